/**
 * Three stories that a newcomer clicks through in two minutes: each step says what happens and why, and stays until whoever reads it
 * goes on, which is possible once it is so. What has happened meanwhile does not unhappen: slow readers get there, too.
 */
import type { HeadPicture, IncidentLine, NodePicture } from '../picture.ts';
import type { MachineSnapshot, TimeRate } from '../snapshot.ts';

export interface Scene {
  nodes: readonly NodePicture[];
  machines: readonly MachineSnapshot[];
  head: HeadPicture | undefined;
  /** The node that the story is about. */
  node: string;
  /** The incidents that were there when it began. */
  before: ReadonlySet<string>;
}

export interface Step {
  text: (scene: Scene) => string;
  /** What a person does in it, as paths of requests. */
  deed?: { label: string; paths: (scene: Scene) => string[] };
  /** One can go on when this is so; absent: at once. */
  until?: (scene: Scene) => boolean;
  /** How fast time passes in it, where somebody would only wait. */
  rate?: TimeRate;
  /** It is told on the page of the incident. */
  onIncident?: true;
}

export interface Story {
  id: string;
  title: string;
  about: string;
  /** Absent: the node of the database. */
  node?: (machines: readonly MachineSnapshot[]) => string | undefined;
  steps: readonly Step[];
  /** Whoever leaves early leaves nothing broken. */
  mend: (scene: Scene) => string[];
}

const hero = 'database-0';

/** Where the database is. */
export function heroNode(machines: readonly MachineSnapshot[]): string | undefined {
  return machines.find(({ pods }) => pods.some(({ name, ready }) => name === hero && ready))?.name;
}

function machineOf({ machines, node }: Scene): MachineSnapshot | undefined {
  return machines.find(({ name }) => name === node);
}

/** What this story has made of the node. */
export function incidentIn({ head, node, before }: Scene): IncidentLine | undefined {
  return head?.incidents.find((one) => one.node === node && !before.has(one.id));
}

/** Nobody begins a story while another one is not over. */
export function isAllWell(nodes: readonly NodePicture[], machines: readonly MachineSnapshot[]): boolean {
  return (
    nodes.length > 0 &&
    nodes.every(({ mark, schedulable }) => mark === 'healthy' && schedulable) &&
    machines.every(({ power, linked, hung, fault }) => power === 'on' && linked && !hung && fault === 'none') &&
    heroNode(machines) !== undefined
  );
}

function isBack(scene: Scene): boolean {
  const picture = scene.nodes.find(({ name }) => name === scene.node);
  const isSound = picture?.mark === 'healthy' && picture.schedulable && machineOf(scene)?.power === 'on';
  return isSound && incidentIn(scene)?.endedAt !== undefined;
}

function isReleased(scene: Scene): boolean {
  return incidentIn(scene)?.outcome.includes('released') === true;
}

function isElsewhere({ machines, node }: Scene): boolean {
  const now = heroNode(machines);
  return now !== undefined && now !== node;
}

const at = (...names: string[]): string => names.map(encodeURIComponent).join('/');

const switchZones = ['z1', 'z2'];
const boot: TimeRate = 10;

export const STORIES: readonly Story[] = [
  {
    id: 'dead-machine',
    title: 'A dead machine',
    about: 'The plug of the database is pulled. Watch it come back elsewhere, and why that was safe.',
    mend: ({ node }) => [at('nodes', node, 'power-on')],
    steps: [
      {
        text: ({ node }) => `${node} runs ${hero}, with its volume. You pull its plug.`,
        deed: { label: 'Pull the plug', paths: ({ node }) => [at('nodes', node, 'power-off')] },
      },
      {
        text: ({ node }) =>
          `Nothing is heard of ${node} any more. For a few seconds that means nothing: it is suspected when its Lease has not been renewed for 12 s, long before Kubernetes says a word.`,
        until: (scene) => incidentIn(scene) !== undefined,
      },
      {
        text: ({ node }) =>
          `Silence is no proof: with its network cut, ${node} would go on writing. So its power device is asked, and the answer is off. That is proof: nothing runs there any more.`,
        until: isReleased,
      },
      {
        text: ({ node }) =>
          `On that basis, PowerOff, the volumes of ${node} were detached and its pods let go. Without it Kubernetes would keep both for ever, because it cannot know. ${hero} starts elsewhere.`,
        until: isElsewhere,
      },
      {
        text: ({ machines, node }) =>
          `${hero} runs on ${heroNode(machines) ?? 'another node'}. This page tells the incident of ${node}: in the sentence above the picture, what the seconds were spent with; in the picture, what was heard, asked and done. Each mark has its proof.`,
        onIncident: true,
      },
      {
        text: ({ node }) =>
          `${node} is switched on again. It has to boot, to have none of the old pods, and to stay well for a while: whoever takes pods too early loses them again. Time passes ten times as fast here.`,
        until: isBack,
        rate: boot,
        onIncident: true,
      },
      {
        text: ({ node }) =>
          `${node} takes pods again, and what was put on it is taken away. That was all. The address of this page stays: whoever you send it to sees the same.`,
        onIncident: true,
      },
    ],
  },
  {
    id: 'broken-switch',
    title: 'A broken switch',
    about: 'Four of six nodes fall silent at once. Watch why nobody is cut.',
    node: (machines) => machines.find(({ zone }) => switchZones.includes(zone))?.name,
    mend: () => switchZones.map((zone) => at('zones', zone, 'heal')),
    steps: [
      {
        text: () =>
          'Zones z1 and z2 hang on one switch. You break it: their machines run on, but nobody hears of them.',
        deed: { label: 'Break the switch', paths: () => switchZones.map((zone) => at('zones', zone, 'partition')) },
      },
      {
        text: () => 'Their Leases are overdue one after the other, just as if four machines had died.',
        until: (scene) =>
          (scene.head?.brake?.troubled ?? 0) > (scene.head?.brake?.allowed ?? Infinity) &&
          incidentIn(scene) !== undefined,
      },
      {
        text: ({ head }) =>
          `${head?.brake?.troubled} of ${head?.brake?.nodes} are in trouble, and ${head?.brake?.allowed} may be: look at the brake. So many at once are a broken switch, not broken machines. To cut them would turn a disturbance into an outage, so it holds.`,
      },
      {
        text: ({ node }) =>
          `This is the incident of ${node}: the lane Held says what keeps it from being cut (StormLimit), and since when. Its machine is on, and was never told to be anything else.`,
        onIncident: true,
      },
      {
        text: () => 'You mend the switch.',
        deed: { label: 'Mend the switch', paths: () => switchZones.map((zone) => at('zones', zone, 'heal')) },
        onIncident: true,
      },
      {
        text: () => 'All of them are heard again. They have to stay well for a while before it is over.',
        until: (scene) =>
          scene.nodes.every(({ mark }) => mark === 'healthy') && incidentIn(scene)?.endedAt !== undefined,
        rate: boot,
        onIncident: true,
      },
      {
        text: () => 'All four are back, and not one was switched off. That was all.',
        onIncident: true,
      },
    ],
  },
  {
    id: 'lying-device',
    title: 'A lying power device',
    about: 'A BMC says yes and does nothing, while the network is cut. Watch what its word is worth.',
    mend: ({ node }) => [at('nodes', node, 'device-none'), at('nodes', node, 'heal')],
    steps: [
      {
        text: ({ node }) =>
          `${node} runs ${hero}. You break its BMC: from now on it says yes to every command, and does nothing.`,
        deed: { label: 'Break the BMC', paths: ({ node }) => [at('nodes', node, 'device-ignores')] },
      },
      {
        text: ({ node }) =>
          `Now you cut the network of ${node}. It runs on, nobody hears of it, and ${hero} goes on writing: the most dangerous kind of silence.`,
        deed: { label: 'Cut its network', paths: ({ node }) => [at('nodes', node, 'partition')] },
      },
      {
        text: () =>
          `Its Lease will be overdue soon. To start ${hero} elsewhere now would mean two that write to one volume.`,
        until: (scene) => incidentIn(scene) !== undefined,
      },
      {
        text: ({ node }) =>
          `Its power is to be cut. The BMC says yes; asked again, it says that ${node} is on. What is not confirmed counts for nothing, and nothing is let go on its word. Time passes ten times as fast until there is another way.`,
        until: (scene) => isReleased(scene) && isElsewhere(scene),
        rate: boot,
        onIncident: true,
      },
      {
        text: () =>
          'The other way was StorageSafeDetach: this storage itself refuses a node whose volume was detached, so that two can never write. Done has the release with its basis; Asked has what the BMC was told, and no "confirmed off": it was never believed.',
        onIncident: true,
      },
      {
        text: ({ node }) => `You mend the BMC and the network of ${node}.`,
        deed: {
          label: 'Mend both',
          paths: ({ node }) => [at('nodes', node, 'device-none'), at('nodes', node, 'heal')],
        },
        onIncident: true,
      },
      {
        text: ({ node }) =>
          `${node} is heard again at once. But its BMC was told to switch it off, and might still do so: nothing is entrusted to ${node} until it has been asked once more, minutes later. Time passes sixty times as fast.`,
        until: isBack,
        rate: 60,
        onIncident: true,
      },
      { text: ({ node }) => `${node} is back, and nothing was lost. That was all.`, onIncident: true },
    ],
  },
];
