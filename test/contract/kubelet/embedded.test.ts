/** The contract of the kubelet on the simulated one, with the embedded API server, in virtual time. */
import { createHash } from 'node:crypto';
import { KubeClient } from '../../../src/kube/client.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import { ApiServer } from '../../../src/world/api-server/server.ts';
import { Fleet } from '../../../src/world/fleet.ts';
import type { PodBehaviour } from '../../../src/world/kubelet/pod-worker.ts';
import type { Pod } from '../../../src/world/objects/pods.ts';
import { Random } from '../../../src/world/random.ts';
import { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import type { KubeletRequest, NodeUnderTest, Subject } from './subject.ts';
import { contractTimes, driver, nodeLabels, nodeName } from './subject.ts';
import { kubeletContract } from './suite.ts';

/** What a real container is told by its arguments. */
function behaviourOf(pod: Pod): PodBehaviour {
  const args = pod.spec.containers[0]?.args ?? [];
  const number = (name: string): number | undefined => {
    const found = args.find((arg) => arg.startsWith(`--${name}=`));
    return found === undefined ? undefined : Number(found.split('=')[1]);
  };
  const afterMs = number('exit-after-ms');
  const exit = afterMs === undefined ? {} : { exit: { afterMs, code: number('exit-code') ?? 0 } };
  return { startupMs: 300, stopMs: number('stop-ms') ?? 20, ...exit };
}

function handled(fleet: Fleet): NodeUnderTest {
  const kubelet = fleet.kubelet(nodeName);
  const { machine } = kubelet;
  const now = (act: () => void): Promise<void> => {
    act();
    return Promise.resolve();
  };
  return {
    bootId: () => Promise.resolve(machine.bootId),
    containersOf: (podUid) => {
      const process = machine.processOf(podUid);
      return Promise.resolve(process === undefined ? [] : [process.id]);
    },
    mountsOf: (podUid) => {
      const volumes = machine.mounts.get(podUid) ?? [];
      return Promise.resolve(
        volumes.filter(({ driver: by }) => by !== undefined).map(({ persistentVolume }) => persistentVolume),
      );
    },
    stopKubelet: () => now(() => kubelet.stop()),
    startKubelet: () => now(() => kubelet.start()),
    partition: () => now(() => machine.partition()),
    heal: () => now(() => machine.heal()),
    powerOff: () => now(() => machine.powerOff()),
    powerOn: async () => {
      if (machine.power === 'on') return;
      const booted = new Promise<void>((resolve) => machine.on(({ type }) => type === 'booted' && resolve()));
      machine.powerOn();
      await booted;
    },
    addStaticPod: (file) => now(() => kubelet.addStaticPod(hashOf(file), file)),
    removeStaticPod: (file) => now(() => kubelet.removeStaticPod(hashOf(file))),
  };
}

function hashOf({ name, namespace }: { name: string; namespace: string }): string {
  return createHash('md5').update(`${namespace}/${name}`).digest('hex');
}

function embedded(): Promise<Subject> {
  const clock = new VirtualClock();
  const random = new Random(1);
  const server = new ApiServer({ clock, random: random.stream('server') });
  const requests: KubeletRequest[] = [];
  server.onAudit(({ user, verb, resource, namespace = '', name = '', body }) => {
    if (user !== `system:node:${nodeName}`) return;
    requests.push({ verb, resource, namespace, name, body: body === '' ? undefined : JSON.parse(body) });
  });
  const transportFor = (user: string): Transport => server.transport(user);
  const client = new KubeClient({ transport: transportFor('admin'), clock, userAgent: 'test', fieldManager: 'test' });
  const fleet = new Fleet({
    clock,
    kubeletPort: 10_250,
    random: random.stream('fleet'),
    transportFor,
    nodes: [{ name: nodeName, labels: nodeLabels, drivers: [driver] }],
    bootTimeMs: 1500,
    kubelet: contractTimes,
    behaviourOf,
  });
  const ended = new AbortController();
  // Time passes as long as there is anyone to see it.
  const passing = (async () => {
    while (!ended.signal.aborted) await clock.runFor(100);
  })();
  fleet.start();
  return Promise.resolve({
    clock,
    random: random.stream('test'),
    client,
    node: handled(fleet),
    requests: () => Promise.resolve(requests),
    async stop() {
      await fleet.stop();
      ended.abort();
      await passing;
    },
  });
}

kubeletContract('the simulated kubelet on the embedded API server', { concurrency: 100, thorough: true }, embedded);
