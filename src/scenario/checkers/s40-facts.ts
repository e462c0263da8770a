/**
 * S40: what is stored as a fact rests on evidence. When a record says that a machine is off, its device was asked in this fence,
 * and off was the last that it had said when the record was sent; when it says that a port is closed, or that the node is fenced by that, that is so; whatever was edited meanwhile.
 * (What the word of a device is worth, and whose power it switches, is for S4 and S34.)
 */
import type { StoredFence } from '../cluster-state.ts';
import { isOperator, operatorUser } from '../operator-user.ts';
import type { Invariant } from './checker.ts';

interface Said {
  power: 'on' | 'off';
  /** By the device that was asked, which may be one of several. */
  said: 'on' | 'off';
  /** The how-manieth of all answers it was. */
  answer: number;
}

const statusPath = '/apis/fenceline.dev/v1alpha1/nodefences';
/** More than a device can give while one write is under way. */
const keptAnswers = 50;

export const s40: Invariant = {
  id: 'S40',
  check: ({ isPortClosed, saysPort, portLies, violated, exempt }) => {
    let answers = 0;
    /** What the device of a node has said, since the last fence of theirs began. */
    const said = new Map<string, Said[]>();
    /** How many answers had come when an operator last sent a record. */
    const heard = new Map<string, number>();
    /** By then: a write that is long under way cannot be called back. */
    const isOff = (node: string, writer: string, what: 'power' | 'said'): boolean => {
      const known = heard.get(writer) ?? answers;
      return said.get(node)?.findLast(({ answer }) => answer <= known)?.[what] === 'off';
    };
    return {
      onWire(event) {
        if (event.type === 'sent') heard.set(`${operatorUser(event.operator)} ${event.path}`, answers);
        if (event.type !== 'answered') return;
        answers += 1;
        const { node, power, said: own = event.power } = event;
        said.set(node, [...(said.get(node) ?? []).slice(-keptAnswers), { power, said: own, answer: answers }]);
      },
      onStored({ type, object, previous }, user) {
        if (object.kind !== 'NodeFence' || type === 'DELETED') return;
        const fence: StoredFence = object;
        const before: StoredFence | undefined = previous;
        const { node = '' } = fence.spec ?? {};
        const isAnother = fence.status?.fence?.startedAt !== before?.status?.fence?.startedAt;
        for (const { what, fact } of newFacts(fence, before)) {
          // One that was found off was asked before its fence was written down.
          const writer = `${user} ${statusPath}/${object.metadata.name}/status`;
          const isSo =
            what === 'cut'
              ? isPortClosed(node) || portLies(node)
              : what === 'port'
                ? saysPort(node) === 'off'
                : isOff(node, writer, what);
          if (isSo) continue;
          // A record that somebody has restored says what was true of another day.
          if (isOperator(user)) violated(`${fact}, and no device has said so`);
          else exempt('PersonsAct', `${fact}, by the hand of ${user}`);
        }
        if (isAnother && fence.status?.fence?.phase === 'waiting') said.delete(node);
      },
    };
  },
};

interface Fact {
  /** What one device has said, or all of a node taken together; what the port says, or whether the node is cut off by it. */
  what: 'said' | 'power' | 'port' | 'cut';
  fact: string;
}

/** What a record says that it did not say before: confirmed entries, phases, the condition Fenced. */
function newFacts(fence: StoredFence, before: StoredFence | undefined): Fact[] {
  const { node = '' } = fence.spec ?? {};
  const known = new Set(factsOf(before).map(({ fact }) => fact));
  return factsOf(fence)
    .filter(({ fact }) => !known.has(fact))
    .map(({ what, fact }) => ({ what, fact: `the record of ${node} says ${fact}` }));
}

function factsOf(fence: StoredFence | undefined): Fact[] {
  const { phase, switched = [], startedAt = '' } = fence?.status?.fence ?? {};
  const facts: Fact[] = switched.flatMap(({ step, method, device, confirmedAt }) =>
    confirmedAt === undefined || device === undefined
      ? []
      : [{ what: step === 'isolation' ? 'port' : 'said', fact: `that ${method} is off (${startedAt})` }],
  );
  if (phase === 'off') facts.push({ what: 'power', fact: `that the machine is off (${startedAt})` });
  const condition = fence?.status?.conditions?.find(({ type }) => type === 'Fenced');
  if (condition?.status === 'True') {
    const what = phase === 'isolated' ? 'cut' : 'power';
    facts.push({ what, fact: `that the node is fenced, ${condition.reason} (${startedAt})` });
  }
  return facts;
}
