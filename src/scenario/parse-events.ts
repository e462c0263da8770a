/** `spec.events`: what happens to the cluster, and when. */
import { portFaults } from '../world/kubelet/kubelet.ts';
import { bmcFaults } from '../world/machines/bmc.ts';
import type { ApiFault, Act, NodeRef, ScenarioEvent } from './format.ts';
import { apiFaults, apiActs, conditionStatuses, detachFaults, nodeActs, operatorActs, zoneActs } from './format.ts';
import { manifest } from './manifest.ts';
import type { Known } from './parse-refs.ts';
import { nodeRef, operatorNumber, zoneName } from './parse-refs.ts';
import type { Place, Read } from './reader.ts';
import {
  duration,
  entriesOf,
  flag,
  kindOf,
  list,
  oneOf,
  problem,
  record,
  ScenarioError,
  signedDuration,
  text,
  unknownKey,
  whereOf,
  whole,
} from './reader.ts';

export const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

export function eventReader(known: Known): Read<ScenarioEvent> {
  const acts = actReaders(known);
  const names = Object.keys(acts);
  return (place) => {
    const entries = entriesOf(place);
    const unknown = entries.filter(({ key }) => key !== 'at' && !names.includes(key));
    if (unknown.length > 0) {
      throw new ScenarioError(
        unknown.map(({ key, keyPlace }) => unknownKey(keyPlace, key, place.path, ['at', ...names])),
      );
    }
    const at = entries.find(({ key }) => key === 'at');
    const [act, ...more] = entries.filter(({ key }) => key !== 'at');
    if (at === undefined) problem(place, 'when? Write at: 0s');
    if (act === undefined) problem(place, `what? Write one of ${names.join(', ')}`);
    if (more.length > 0) problem(place, `${act.key} and ${more[0]?.key} are two events: write two entries`);
    const read = acts[act.key];
    if (read === undefined) problem(place, 'no such event');
    return { atMs: duration(at.value), act: read(act.value), where: whereOf(place) };
  };
}

function actReaders(known: Known): Record<string, Read<Act>> {
  const node = nodeRef(known);
  const readers: Record<string, Read<Act>> = {};
  for (const name of nodeActs) readers[name] = (place) => ({ do: name, node: node(place) });
  for (const name of operatorActs) readers[name] = (place) => ({ do: name, operator: operatorNumber(known)(place) });
  for (const name of zoneActs) readers[name] = (place) => ({ do: name, zone: zoneName(known)(place) });
  for (const name of apiActs) readers[name] = (place) => always(place, { do: name });
  return { ...readers, ...objectActs(node), ...faultActs(known, node) };
}

/** What a person does to objects. */
function objectActs(node: Read<NodeRef>): Record<string, Read<Act>> {
  return {
    apply: (place) => ({ do: 'apply', manifest: manifest(place) }),
    delete: (place) => ({
      do: 'delete',
      ...record<{ kind: string; name: string; namespace?: string }>({ kind: text, name: text, namespace: text }, [
        'kind',
        'name',
      ])(place),
    }),
    taint: (place) => {
      const { effect = 'NoSchedule', ...taint } = record<{
        node: NodeRef;
        key: string;
        value?: string;
        effect?: (typeof TAINT_EFFECTS)[number];
      }>({ node, key: text, value: text, effect: oneOf(TAINT_EFFECTS) }, ['node', 'key'])(place);
      return { do: 'taint', ...taint, effect };
    },
    untaint: (place) => ({
      do: 'untaint',
      ...record<{ node: NodeRef; key: string }>({ node, key: text }, ['node', 'key'])(place),
    }),
  };
}

function faultActs(known: Known, node: Read<NodeRef>): Record<string, Read<Act>> {
  return {
    condition: (place) => ({
      do: 'condition',
      ...record<{ node: NodeRef; type: string; status: (typeof conditionStatuses)[number] }>(
        { node, type: text, status: oneOf(conditionStatuses) },
        ['node', 'type', 'status'],
      )(place),
    }),
    device: (place) => ({
      do: 'device',
      ...record<{ node: NodeRef; feed?: string; fault: (typeof bmcFaults)[number] }>(
        { node, feed: text, fault: oneOf(bmcFaults) },
        ['node', 'fault'],
      )(place),
    }),
    kubeletPort: (place) => ({
      do: 'kubeletPort',
      ...record<{ node: NodeRef; fault: (typeof portFaults)[number] }>({ node, fault: oneOf(portFaults) }, [
        'node',
        'fault',
      ])(place),
    }),
    swapDevices: (place) => {
      const isList = kindOf(place) === 'a list';
      const of = isList
        ? { nodes: list(node)(place) }
        : record<{ nodes: NodeRef[]; feed: string }>({ nodes: list(node), feed: text }, ['nodes', 'feed'])(place);
      return { do: 'swapDevices', ...of, nodes: two(place, of.nodes) };
    },
    swapPorts: (place) => ({ do: 'swapPorts', nodes: two(place, list(node)(place)) }),
    apiFault: (place) => ({
      do: 'apiFault',
      ...record<{ operator: number; fault: ApiFault }>({ operator: operatorNumber(known), fault: oneOf(apiFaults) }, [
        'operator',
        'fault',
      ])(place),
    }),
    detach: (place) => ({
      do: 'detach',
      ...record<{ driver: string; fault: (typeof detachFaults)[number] }>(
        { driver: text, fault: oneOf(detachFaults) },
        ['driver', 'fault'],
      )(place),
    }),
    clockSkew: (place) => {
      const { operator, by } = record<{ operator: number; by: number }>(
        { operator: operatorNumber(known), by: signedDuration },
        ['operator', 'by'],
      )(place);
      return { do: 'clockSkew', operator, byMs: by };
    },
    apiDate: (place) => {
      const { by, servers = 1 } = record<{ by: number; servers?: number }>({ by: signedDuration, servers: whole(1) }, [
        'by',
      ])(place);
      return { do: 'apiDate', byMs: by, servers };
    },
  };
}

/** `apiDown: true`; false would say that nothing happens. */
function always(place: Place, act: Act): Act {
  return flag(place) ? act : problem(place, 'write true, or leave the event out');
}

function two(place: Place, [one, other, ...more]: readonly NodeRef[]): [NodeRef, NodeRef] {
  if (one === undefined || other === undefined || more.length > 0) problem(place, 'write two nodes, as in [a, b]');
  return [one, other];
}
