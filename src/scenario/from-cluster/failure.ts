/** What is to fail, as it is said on the command line or in a file, and which nodes that is about. */
import { parseLabelSelector, selects } from '../../api/label-selector.ts';
import { nearest } from '../../api/nearest.ts';
import type { Snapshot, SnapshotNode } from '../../api/snapshot.ts';
import type { BmcFault } from '../../world/machines/bmc.ts';

/** What befalls a machine, and what ends it. */
const endOf = {
  powerOff: 'powerOn',
  partition: 'heal',
  hang: 'resume',
  kubeletStop: 'kubeletStart',
  storagePartition: 'storageHeal',
  reboot: undefined,
  gracefulReboot: undefined,
  gracefulShutdown: 'powerOn',
} as const;

export type Blow = keyof typeof endOf;
export const blows = Object.keys(endOf) as Blow[];

export interface Failure {
  nodes: readonly string[];
  zones: readonly string[];
  /** Nodes behind one switch, by a label that they have. */
  switches: readonly string[];
  /** Absent: the power fails, and behind a switch the network. */
  how?: Blow;
  /** What the power devices of these nodes do from then on. */
  bmc?: BmcFault;
  /** After which it is mended, as `10m`; absent: never. */
  endsAfter?: string;
  /** More events, as in a scenario file. */
  events: readonly RawEvent[];
}

export type RawEvent = Readonly<Record<string, unknown>>;

export interface Struck {
  /** All nodes that something happens to. */
  nodes: ReadonlySet<string>;
  events: readonly RawEvent[];
  problems: readonly string[];
}

export function strike(failure: Failure, { nodes, pods }: Snapshot): Struck {
  const problems: string[] = [];
  const hit = new Map<string, Blow>();
  const add = (found: readonly SnapshotNode[], how: Blow): void => {
    for (const { name } of found) hit.set(name, failure.how ?? how);
  };
  for (const name of failure.nodes) {
    const found = nodes.filter((node) => node.name === name);
    if (found.length === 0)
      problems.push(
        `no such node: ${name}${hint(
          name,
          nodes.map((node) => node.name),
        )}`,
      );
    add(found, 'powerOff');
  }
  for (const zone of failure.zones) {
    const found = nodes.filter((node) => node.zone === zone);
    if (found.length === 0) problems.push(`no node is in zone ${zone}${hint(zone, zonesOf(nodes))}`);
    add(found, 'powerOff');
  }
  for (const text of failure.switches) {
    const parsed = parseLabelSelector(text);
    const found = parsed.ok ? nodes.filter(({ labels }) => selects(parsed.selector, labels)) : [];
    if (!parsed.ok) problems.push(`--switch ${text}: ${parsed.problem}`);
    else if (found.length === 0) problems.push(`--switch ${text}: no node has this label`);
    add(found, 'partition');
  }
  const named = failure.events.flatMap((event) => namedIn(event, { nodes, pods }));
  const events = [...hit].flatMap(([node, how]) => blow(node, how, failure));
  return { nodes: new Set([...hit.keys(), ...named]), events: [...events, ...failure.events], problems };
}

function blow(node: string, how: Blow, { bmc, endsAfter }: Failure): RawEvent[] {
  const end = endOf[how];
  return [
    ...(bmc === undefined ? [] : [{ at: '0s', device: { node, fault: bmc } }]),
    { at: '0s', [how]: node },
    ...(endsAfter === undefined || end === undefined ? [] : [{ at: endsAfter, [end]: node }]),
  ];
}

/** Nodes that an event of a file is about; whether it is written well is for the reader of scenarios to say. */
function namedIn(event: RawEvent, { nodes, pods }: Pick<Snapshot, 'nodes' | 'pods'>): string[] {
  const found: string[] = [];
  const look = (value: unknown, key: string): void => {
    if (Array.isArray(value)) for (const one of value) look(one, key);
    else if (typeof value === 'string') {
      for (const node of nodes) {
        if (node.name === value || (key.startsWith('zone') && node.zone === value)) found.push(node.name);
      }
      const pod = key === 'nodeOf' ? pods.find(({ namespace, name }) => `${namespace}/${name}` === value) : undefined;
      if (pod?.node !== undefined) found.push(pod.node);
    } else if (typeof value === 'object' && value !== null) {
      for (const [inner, one] of Object.entries(value)) look(one, inner === 'node' ? key : inner);
    }
  };
  for (const [key, value] of Object.entries(event)) if (key !== 'at' && key !== 'apply') look(value, key);
  return found;
}

function zonesOf(nodes: readonly SnapshotNode[]): string[] {
  return [...new Set(nodes.map(({ zone }) => zone))].filter((zone) => zone !== '');
}

function hint(word: string, known: readonly string[]): string {
  return known.length === 0 ? '' : `; did you mean ${nearest(word, known)}?`;
}
