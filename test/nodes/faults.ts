/** What happens to real machines in the soak. Each says what is broken, how it is mended, and what may come of it. */
import type { Machines } from '../support/real-node/machines.ts';
import type { DatabasePod } from '../support/real-node/database.ts';
import { VirtualNode } from '../support/real-node/virtual-node.ts';

export interface Scene {
  machines: Machines;
  /** What the fault is about. */
  pod: DatabasePod;
  node: string;
  /** From 0 up to, but without, 1. */
  random: () => number;
  /** A worker that has no part in it. */
  other: string;
  operators: readonly string[];
  wait: (fromSeconds: number, toSeconds: number) => Promise<void>;
}

export interface Fault {
  name: string;
  /**
   * moves: the database has to run elsewhere before the fault is mended; stays: nothing of the kind is needed, and nobody may be
   * fenced; either: both are right, as long as there is one writer.
   */
  outcome: 'moves' | 'stays' | 'either';
  /** Where it can be done; on every kind of node, if not said. */
  only?: 'namespaces' | 'virtual';
  /** How often a BMC is told to cut, where that is certain. */
  cuts?: number;
  /** Where the product itself waits for minutes. */
  patienceMs?: number;
  strike: (scene: Scene) => Promise<void>;
  /** After the database has moved, or at once where that is not waited for. */
  mend?: (scene: Scene) => Promise<void>;
}

const power = ({ machines, node }: Scene): Promise<void> => machines.product.power(node).off('test');

function virtual({ machines, node }: Scene): VirtualNode {
  const found = machines.cluster.node(node);
  if (!(found instanceof VirtualNode)) throw new Error(`${node} is no virtual machine`);
  return found;
}

async function drained({ machines, node }: Scene): Promise<void> {
  await machines.product.type(`kubectl drain ${node} --ignore-daemonsets --delete-emptydir-data --timeout=90s`);
}

async function uncordoned({ machines, node }: Scene): Promise<void> {
  await machines.cluster.untilReady(node);
  await machines.product.type(`kubectl uncordon ${node}`);
}

async function operatorKilled({ machines, operators }: Scene): Promise<void> {
  const listed = await machines.product.type('kubectl get pods -n fenceline -o json');
  const { items } = JSON.parse(listed) as { items: { metadata: { uid: string }; spec: { nodeName?: string } }[] };
  for (const { metadata, spec } of items) {
    const node = operators.find((one) => one === spec.nodeName);
    if (node !== undefined && machines.cluster.node(node).isOn) await machines.cluster.node(node).kill(metadata.uid);
  }
}

export const faults: readonly Fault[] = [
  { name: 'power', outcome: 'moves', cuts: 0, strike: power },
  {
    name: 'reset',
    outcome: 'either',
    strike: async (scene) => {
      await power(scene);
      scene.machines.product.power(scene.node).on('test');
    },
  },
  {
    name: 'hang, the BMC answers',
    outcome: 'moves',
    cuts: 1,
    strike: ({ machines, node }) => machines.cluster.node(node).pause(),
  },
  {
    name: 'hang for a while, and on it goes',
    outcome: 'either',
    strike: async ({ machines, node, wait }) => {
      await machines.cluster.node(node).pause();
      await wait(5, 30);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).resume(),
  },
  {
    // The product knocks, hears that nobody listens there, and gives the kubelet five minutes.
    name: 'kubelet killed for good, containers run on',
    outcome: 'moves',
    cuts: 1,
    patienceMs: 8 * 60_000,
    strike: ({ machines, node }) => machines.cluster.node(node).stopKubelet(),
  },
  {
    name: 'kubelet killed for a while, containers run on',
    outcome: 'stays',
    strike: async ({ machines, node, wait }) => {
      await machines.cluster.node(node).stopKubelet();
      await wait(10, 60);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).startKubelet(),
  },
  {
    name: 'link down',
    outcome: 'moves',
    cuts: 1,
    strike: ({ machines, node }) => machines.cluster.node(node).partition(),
    mend: ({ machines, node }) => machines.cluster.node(node).heal(),
  },
  {
    name: 'link down for a while',
    outcome: 'either',
    strike: async ({ machines, node, wait }) => {
      await machines.cluster.node(node).partition();
      await wait(5, 30);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).heal(),
  },
  {
    name: 'link slow',
    outcome: 'either',
    strike: async ({ machines, node, wait, random }) => {
      await machines.cluster.node(node).slowDown(4000 + Math.floor(random() * 60_000));
      await wait(10, 30);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).fullSpeed(),
  },
  {
    name: 'link lossy',
    outcome: 'either',
    only: 'virtual',
    strike: async (scene) => {
      await virtual(scene).losePackets(10 + Math.floor(scene.random() * 50));
      await scene.wait(10, 30);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).fullSpeed(),
  },
  {
    name: 'cut from storage only',
    outcome: 'stays',
    strike: async ({ machines, node, wait }) => {
      await machines.cluster.node(node).cutStorage();
      await wait(5, 25);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).healStorage(),
  },
  {
    name: 'API server killed',
    outcome: 'stays',
    strike: async ({ machines, wait }) => {
      await machines.cluster.controlPlane.kill('kube-apiserver');
      await wait(3, 30);
    },
    mend: ({ machines }) => machines.cluster.controlPlane.restart('kube-apiserver'),
  },
  {
    name: 'API server killed, and power',
    outcome: 'moves',
    strike: async (scene) => {
      await scene.machines.cluster.controlPlane.kill('kube-apiserver');
      await power(scene);
      await scene.wait(3, 20);
      await scene.machines.cluster.controlPlane.restart('kube-apiserver');
    },
  },
  {
    name: 'etcd paused',
    outcome: 'stays',
    strike: async ({ machines, wait }) => {
      machines.cluster.controlPlane.pause('etcd');
      await wait(3, 30);
    },
    mend: ({ machines }) => Promise.resolve(machines.cluster.controlPlane.resume('etcd')),
  },
  {
    name: 'etcd paused, and link down',
    outcome: 'moves',
    strike: async ({ machines, node, wait }) => {
      machines.cluster.controlPlane.pause('etcd');
      await machines.cluster.node(node).partition();
      await wait(3, 20);
      machines.cluster.controlPlane.resume('etcd');
    },
    mend: ({ machines, node }) => machines.cluster.node(node).heal(),
  },
  {
    name: 'power, and every operator killed',
    outcome: 'moves',
    strike: async (scene) => {
      await power(scene);
      await scene.wait(8, 14);
      await operatorKilled(scene);
    },
  },
  {
    name: "link down, and the leader's node loses its power",
    outcome: 'moves',
    strike: async (scene) => {
      const leader = await scene.machines.leader();
      await scene.machines.cluster.node(scene.node).partition();
      await scene.wait(8, 16);
      await scene.machines.cluster.node(leader).powerOff();
    },
    mend: async ({ machines, node, operators }) => {
      await machines.cluster.node(node).heal();
      for (const operator of operators) await machines.cluster.node(operator).powerOn();
    },
  },
  {
    name: 'link down, and an upgrade of the product',
    outcome: 'moves',
    cuts: 1,
    strike: async ({ machines, node, wait, random }) => {
      await machines.cluster.node(node).partition();
      await wait(4, 18);
      await machines.product.upgrade(`${Math.floor(random() * 2 ** 31)}`);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).heal(),
  },
  {
    name: 'kernel crash, told by fence_kdump_send',
    outcome: 'moves',
    only: 'namespaces',
    cuts: 0,
    strike: ({ machines, node, operators }) =>
      machines.cluster.node(node).crash(operators.map((name) => machines.cluster.node(name).address)),
    mend: async (scene) => {
      // It has written its dump, and boots.
      await power(scene);
      scene.machines.product.power(scene.node).on('test');
    },
  },
  {
    name: 'kernel crash, of which nobody tells',
    outcome: 'moves',
    only: 'virtual',
    cuts: 1,
    strike: ({ machines, node }) => machines.cluster.node(node).crash([]),
  },
  {
    name: 'two at once: power and link down',
    outcome: 'moves',
    strike: async (scene) => {
      await Promise.all([power(scene), scene.machines.cluster.node(scene.other).partition()]);
    },
    mend: ({ machines, other }) => machines.cluster.node(other).heal(),
  },
  {
    name: 'planned reboot after cordon and drain',
    outcome: 'stays',
    strike: async (scene) => {
      await drained(scene);
      await power(scene);
      await scene.wait(1, 20);
    },
    mend: async (scene) => {
      scene.machines.product.power(scene.node).on('test');
      await uncordoned(scene);
    },
  },
  {
    name: 'slow boot after cordon and drain',
    outcome: 'stays',
    strike: async (scene) => {
      await drained(scene);
      await power(scene);
      await scene.wait(40, 70);
    },
    mend: async (scene) => {
      scene.machines.product.power(scene.node).on('test');
      await uncordoned(scene);
    },
  },
  {
    name: 'kubelet restarted for an upgrade',
    outcome: 'stays',
    strike: async ({ machines, node, wait }) => {
      await machines.cluster.node(node).stopKubelet();
      await wait(0, 5);
    },
    mend: ({ machines, node }) => machines.cluster.node(node).startKubelet(),
  },
];
