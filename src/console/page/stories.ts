/** Three stories that a newcomer clicks through in two minutes: each step says what is seen, and waits until it is so. */
import type { HeadPicture, NodePicture } from '../picture.ts';
import type { MachineSnapshot } from '../snapshot.ts';

export interface Scene {
  nodes: readonly NodePicture[];
  machines: readonly MachineSnapshot[];
  head: HeadPicture | undefined;
  /** The node that the story is about. */
  node: string;
}

export interface Step {
  text: (scene: Scene) => string;
  /** What a person does in it, as paths of requests. */
  deed?: { label: string; paths: (scene: Scene) => string[] };
  /** It goes on by itself when this is so; absent: when the person goes on. */
  until?: (scene: Scene) => boolean;
}

export interface Story {
  id: string;
  title: string;
  about: string;
  steps: readonly Step[];
}

const hero = 'database-0';

/** Where the database is. */
export function heroNode(machines: readonly MachineSnapshot[]): string | undefined {
  return machines.find(({ pods }) => pods.some(({ name, ready }) => name === hero && ready))?.name;
}

function machineOf({ machines, node }: Scene): MachineSnapshot | undefined {
  return machines.find(({ name }) => name === node);
}

function pictureOf({ nodes, node }: Scene): NodePicture | undefined {
  return nodes.find(({ name }) => name === node);
}

function isBack(scene: Scene): boolean {
  const picture = pictureOf(scene);
  return picture?.mark === 'healthy' && picture.schedulable && machineOf(scene)?.power === 'on';
}

function isReleased({ head, node }: Scene): boolean {
  const line = head?.incidents.find((one) => one.node === node && one.endedAt === undefined);
  return line?.outcome.includes('released') === true;
}

const at = (...names: string[]): string => names.map(encodeURIComponent).join('/');

const switchZones = ['z1', 'z2'];

export const STORIES: readonly Story[] = [
  {
    id: 'dead-machine',
    title: 'A dead machine',
    about: 'The plug of the database is pulled. Watch it come back elsewhere, and why that was safe.',
    steps: [
      {
        text: ({ node }) => `${node} runs ${hero}, with its volume. Now its power goes.`,
        deed: { label: 'Pull the plug', paths: ({ node }) => [at('nodes', node, 'power-off')] },
        until: (scene) => machineOf(scene)?.power === 'off',
      },
      {
        text: ({ node }) =>
          `Nothing is heard of ${node} any more. One missed heartbeat means little: its Lease has to be overdue first, which takes up to 12 s.`,
        until: (scene) => pictureOf(scene)?.mark !== 'healthy',
      },
      {
        text: ({ node }) =>
          `${node} is suspected, before Kubernetes has noticed anything. Silence is no proof: its power device is asked, and the other nodes are looked at.`,
        until: isReleased,
      },
      {
        text: ({ node }) =>
          `The device says off. That is proof: nobody on ${node} can write any more, so its pods and volumes are let go, on that basis.`,
        until: ({ machines, node }) => heroNode(machines) !== undefined && heroNode(machines) !== node,
      },
      {
        text: ({ machines }) =>
          `${hero} runs on ${heroNode(machines) ?? 'another node'}. The page of the incident shows what each second was spent with.`,
      },
      {
        text: ({ node }) =>
          `${node} is switched on again. It has to boot, to be clean, and to stay well for a while before it takes pods.`,
        until: isBack,
      },
      { text: ({ node }) => `${node} takes pods again, and what was put on it is taken away. That was all.` },
    ],
  },
  {
    id: 'broken-switch',
    title: 'A broken switch',
    about: 'Four of six nodes fall silent at once. Watch why nobody is cut.',
    steps: [
      {
        text: () => 'Zones z1 and z2 hang on one switch. It dies: their machines run on, but nobody hears of them.',
        deed: { label: 'Break the switch', paths: () => switchZones.map((zone) => at('zones', zone, 'partition')) },
        until: ({ machines }) => machines.filter(({ linked }) => !linked).length >= 4,
      },
      {
        text: () => 'Their Leases are overdue one after the other.',
        until: ({ head }) => (head?.brake?.troubled ?? 0) > (head?.brake?.allowed ?? Infinity),
      },
      {
        text: ({ head }) =>
          `${head?.brake?.troubled} of ${head?.brake?.nodes} are silent, and ${head?.brake?.allowed} may be. So many at once are no broken machines: the brake holds, and nothing is cut.`,
      },
      {
        text: () => 'Somebody mends the switch.',
        deed: { label: 'Mend the switch', paths: () => switchZones.map((zone) => at('zones', zone, 'heal')) },
        until: ({ nodes }) => nodes.every(({ verdict }) => verdict === 'healthy'),
      },
      { text: () => 'All of them are back, and none was switched off. That was all.' },
    ],
  },
  {
    id: 'lying-device',
    title: 'A lying power device',
    about: 'A BMC says yes and does nothing, while the network is cut. Watch what its word is worth.',
    steps: [
      {
        text: ({ node }) => `${node} runs ${hero}. Its BMC is broken: it says yes to every command, and does nothing.`,
        deed: { label: 'Break the BMC', paths: ({ node }) => [at('nodes', node, 'device-ignores')] },
        until: (scene) => machineOf(scene)?.fault === 'ignores',
      },
      {
        text: ({ node }) => `Now the network of ${node} is cut. It runs on, and ${hero} goes on writing.`,
        deed: { label: 'Cut its network', paths: ({ node }) => [at('nodes', node, 'partition')] },
        until: (scene) => pictureOf(scene)?.mark !== 'healthy',
      },
      {
        text: () =>
          'It is silent, so its power is to be cut. The BMC says yes and, when it is asked again, that the machine is on. What is not confirmed counts for nothing, and nothing is let go on its word.',
        until: isReleased,
      },
      {
        text: () =>
          `${hero} was let go on another basis: its storage itself refuses a node whose volume was detached (StorageSafeDetach), and Kubernetes has given the node up too. Two can never write.`,
      },
      {
        text: ({ node }) => `Somebody mends BMC and network of ${node}.`,
        deed: {
          label: 'Mend both',
          paths: ({ node }) => [at('nodes', node, 'device-none'), at('nodes', node, 'heal')],
        },
        until: isBack,
      },
      { text: ({ node }) => `${node} is back, and nothing was lost. That was all.` },
    ],
  },
];
