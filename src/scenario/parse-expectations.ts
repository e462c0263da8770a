/** `spec.expect`: what has to be true, and when. */
import { FENCE_STATUSES, FENCE_STEPS } from '../api/node-fence.ts';
import type { Expectation, NodeRef, NodeState, PodState, State, When } from './format.ts';
import { robustnesses } from './format.ts';
import type { Known } from './parse-refs.ts';
import { label, nodeRef } from './parse-refs.ts';
import type { Place, Read } from './reader.ts';
import {
  duration,
  entriesOf,
  fields,
  flag,
  list,
  oneOf,
  plain,
  problem,
  record,
  ScenarioError,
  text,
  unknownKey,
  whereOf,
  whole,
} from './reader.ts';

type StateReaders = { [K in State['of']]: Read<Extract<State, { of: K }>> };

export function expectationReader(known: Known): Read<Expectation> {
  const states = stateReaders(known);
  return (place) => {
    const entries = entriesOf(place);
    const times = entries.filter(({ key }) => key === 'at' || key === 'by');
    const scope = entries.find(({ key }) => key === 'never' || key === 'always');
    if (scope !== undefined) {
      const others = entries.filter((entry) => entry !== scope);
      if (others.length > 0) {
        const [other] = others;
        if (other !== undefined && !isKnown(other.key)) {
          throw new ScenarioError([unknownKey(other.keyPlace, other.key, place.path, Object.keys(states))]);
        }
        problem(place, `${scope.key} stands alone: it is about every moment`);
      }
      return expectation(
        place,
        { type: scope.key === 'never' ? 'never' : 'always' },
        readState(scope.value, states, []),
      );
    }
    if (times.length > 1) problem(place, 'at or by, not both');
    const [time] = times;
    const when: When =
      time === undefined ? { type: 'end' } : { type: time.key === 'at' ? 'at' : 'by', atMs: duration(time.value) };
    return expectation(place, when, readState(place, states, timeWords));
  };
}

const timeWords = ['at', 'by', 'never', 'always'];

function isKnown(key: string): boolean {
  return timeWords.includes(key);
}

function expectation(place: Place, when: When, state: State): Expectation {
  return { when, state, text: plain(place), where: whereOf(place) };
}

function readState(place: Place, states: StateReaders, besides: readonly string[]): State {
  const names = Object.keys(states);
  const entries = entriesOf(place).filter(({ key }) => !besides.includes(key));
  const unknown = entries.filter(({ key }) => !names.includes(key));
  if (unknown.length > 0) {
    throw new ScenarioError(
      unknown.map(({ key, keyPlace }) => unknownKey(keyPlace, key, place.path, [...besides, ...names])),
    );
  }
  const [entry, ...more] = entries;
  if (entry === undefined) problem(place, `what is expected? Write one of ${names.join(', ')}`);
  if (more.length > 0) problem(place, `${entry.key} and ${more[0]?.key} are two expectations: write two entries`);
  return states[entry.key as State['of']](entry.value);
}

function stateReaders(known: Known): StateReaders {
  const node = nodeRef(known);
  return {
    pod: (place) => ({ of: 'pod', pod: podState(node, place) }),
    node: (place) => ({ of: 'node', node: nodeState(node, place) }),
    fencesAtMost: (place) => ({ of: 'fencesAtMost', count: whole(0)(place) }),
    fences: (place) => ({ of: 'fences', count: whole(0)(place) }),
    event: (place) => ({
      of: 'event',
      ...record<{ reason: string; count?: number }>({ reason: text, count: whole(0) }, ['reason'])(place),
    }),
    ledger: (place) => ({
      of: 'ledger',
      ...record<{ volume: string; writersAtMost?: number; dataIntact?: boolean; moved?: boolean }>(
        { volume: text, writersAtMost: whole(0), dataIntact: flag, moved: flag },
        ['volume'],
      )(place),
    }),
    ...fenceAndDrain(node),
    ...storageStates(node),
  };
}

function fenceAndDrain(node: Read<NodeRef>): Pick<StateReaders, 'fence' | 'drain' | 'budget'> {
  return {
    fence: (place) => ({
      of: 'fence',
      ...record<{ node: NodeRef; status?: string; step?: string }>(
        { node, status: oneOf(FENCE_STATUSES), step: oneOf(FENCE_STEPS) },
        ['node'],
      )(place),
    }),
    drain: (place) => {
      const { node: ref, done = true } = record<{ node: NodeRef; done?: boolean }>({ node, done: flag }, ['node'])(
        place,
      );
      return { of: 'drain', node: ref, done };
    },
    budget: (place) => {
      const { node: ref, blocks = true } = record<{ node: NodeRef; blocks?: boolean }>({ node, blocks: flag }, [
        'node',
      ])(place);
      return { of: 'budget', node: ref, blocks };
    },
  };
}

function storageStates(node: Read<NodeRef>): Pick<StateReaders, 'volume' | 'replica' | 'storageNode'> {
  return {
    volume: (place) => ({
      of: 'volume',
      ...record<Omit<Extract<State, { of: 'volume' }>, 'of'>>(
        { name: text, robustness: oneOf(robustnesses), replicasOn: list(node), dataIntact: flag },
        ['name'],
      )(place),
    }),
    replica: (place) => ({
      of: 'replica',
      ...record<{ volume: string; node: NodeRef; evictionRequested: boolean }>(
        { volume: text, node, evictionRequested: flag },
        ['volume', 'node', 'evictionRequested'],
      )(place),
    }),
    storageNode: (place) => {
      const { name, autoEvicting } = record<{ name: NodeRef; autoEvicting: boolean }>(
        { name: node, autoEvicting: flag },
        ['name', 'autoEvicting'],
      )(place);
      return { of: 'storageNode', node: name, autoEvicting };
    },
  };
}

function podState(node: Read<NodeRef>, place: Place): PodState {
  const {
    name,
    namespace,
    label: wanted,
    ...rest
  } = fields<Omit<PodState, 'ref'> & { name: string; namespace: string; label: string }>({
    name: text,
    namespace: text,
    label,
    running: flag,
    ready: flag,
    terminating: flag,
    deleted: flag,
    moved: flag,
    node,
  })(place);
  if (name !== undefined && wanted !== undefined) problem(place, 'name or label, not both');
  if (name !== undefined) return { ...rest, ref: { namespace: namespace ?? 'default', name } };
  if (wanted === undefined) return problem(place, 'which pod? Write name and namespace, or label');
  return { ...rest, ref: { label: wanted, ...(namespace === undefined ? {} : { namespace }) } };
}

function nodeState(node: Read<NodeRef>, place: Place): NodeState {
  const { name, ...rest } = record<Omit<NodeState, 'node'> & { name: NodeRef }>(
    { name: node, ready: flag, schedulable: flag, taints: list(text) },
    ['name'],
  )(place);
  return { ...rest, node: name };
}
