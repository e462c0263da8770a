/** The scheduler: where pods go, and why not. */
import assert from 'node:assert/strict';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { conditionOf } from '../../../../src/world/objects/meta.ts';
import type { PodSpec } from '../../../../src/world/objects/pods.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same } from '../scene.ts';
import { allReady, deployment } from '../workloads.ts';

async function refused(scene: Scene, name: string, message: RegExp): Promise<void> {
  await scene.until(`the refusal of ${name}`, () => {
    const { status, reason, message: told } = conditionOf(scene.pod(name), 'PodScheduled') ?? {};
    same([status, reason], ['False', 'Unschedulable']);
    assert.match(told ?? '', /^0\/\d+ nodes are available: /);
    assert.match(told ?? '', message);
    return true;
  });
}

/** The scheduler may need a moment to hear of what was just done to a node: the first pods may still get through. */
async function firstRefused(scene: Scene, prefix: string, spec: Partial<PodSpec> = {}): Promise<string> {
  for (let count = 1; ; count += 1) {
    const name = `${prefix}-${count}`;
    await scene.createPod(name, spec);
    const decided = await scene.until('a decision', () => conditionOf(scene.pod(name), 'PodScheduled'));
    if (decided.status === 'False') return name;
  }
}

export const schedulingBehaviours: Behaviour[] = [
  {
    name: 'a pod that fits nowhere is told why, and goes where it fits later',
    nodes: 1,
    async run(scene) {
      const [nodeName = ''] = scene.nodes;
      await scene.createPod('picky', { nodeSelector: { ...scene.selector, disk: 'fast' } });
      await refused(scene, 'picky', /didn't match Pod's node affinity\/selector/);
      await scene.patch(resources.nodes, nodeName, [{ op: 'add', path: '/metadata/labels/disk', value: 'fast' }]);
      const pod = await scene.ready('picky');
      same(pod.spec.nodeName, nodeName);
    },
  },
  {
    name: 'pods that avoid each other are kept apart, the last has to wait',
    nodes: 2,
    async run(scene) {
      const labelSelector = { matchLabels: { app: 'web' } };
      const terms = [{ labelSelector, topologyKey: 'kubernetes.io/hostname' }];
      const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
      await deployment(scene, 'web', { replicas: 3, spec: { affinity } });
      await scene.until(
        'two to run',
        () => scene.pods('web').filter(({ status }) => status?.phase === 'Running').length === 2,
      );
      const waiting = await scene.until('one to wait', () =>
        scene.pods('web').find(({ spec }) => spec.nodeName === undefined),
      );
      await refused(scene, waiting.metadata.name, /anti-affinity rules/);
      same(new Set(scene.pods('web').flatMap(({ spec }) => spec.nodeName ?? [])).size, 2);
    },
  },
  {
    name: 'a full node takes no more, until somebody leaves',
    nodes: 1,
    async run(scene) {
      const containers = [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu: '10' } } }];
      await scene.createPod('first', { containers });
      await scene.ready('first');
      await scene.createPod('second', { containers });
      await refused(scene, 'second', /Insufficient cpu/);
      await scene.delete(resources.pods, 'first');
      await scene.ready('second');
    },
  },
  {
    name: 'taints keep pods away that do not tolerate them',
    nodes: 1,
    async run(scene) {
      const [nodeName = ''] = scene.nodes;
      await scene.taint(nodeName, { key: 'example.com/only', value: 'db', effect: 'NoSchedule' });
      const ordinary = await firstRefused(scene, 'ordinary');
      await scene.createPod('wrong', {
        tolerations: [{ key: 'example.com/only', value: 'web', effect: 'NoSchedule' }],
      });
      await scene.createPod('right', { tolerations: [{ key: 'example.com/only', value: 'db', effect: 'NoSchedule' }] });
      await scene.ready('right');
      for (const name of [ordinary, 'wrong']) await refused(scene, name, /untolerated taint/);
      await scene.untaint(nodeName, 'example.com/only');
      await Promise.all([ordinary, 'wrong'].map((name) => scene.ready(name)));
    },
  },
  {
    name: 'a pod goes only where its volume can be reached',
    nodes: 3,
    async run(scene) {
      const [, second = ''] = scene.nodes;
      const named = { key: 'kubernetes.io/hostname', operator: 'In', values: [second] };
      await scene.createVolume('local', {
        spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [named] }] } } },
      });
      await scene.createClaim('local');
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'local' } }];
      await scene.createPod('uses', { volumes });
      same((await scene.ready('uses')).spec.nodeName, second);
      await scene.createPod('misplaced', { volumes, nodeSelector: { 'kubernetes.io/hostname': scene.nodes[0] ?? '' } });
      await refused(
        scene,
        'misplaced',
        /didn't match PersistentVolume's node affinity|didn't match Pod's node affinity/,
      );
    },
  },
  {
    name: 'replicas are spread over the nodes',
    nodes: 3,
    async run(scene) {
      // A pod that runs on a node shows that the scheduler knows it.
      for (const name of scene.nodes)
        await scene.createPod(`on-${name}`, { nodeSelector: { 'kubernetes.io/hostname': name } });
      for (const name of scene.nodes) await scene.ready(`on-${name}`);
      await deployment(scene, 'web', { replicas: 3 });
      const own = await allReady(scene, 'web', 3);
      same(new Set(own.map(({ spec }) => spec.nodeName)), new Set(scene.nodes));
    },
  },
  {
    name: 'no pod goes to a node that is not ready or cordoned',
    nodes: 3,
    async run(scene) {
      const [dead = '', cordoned = '', good = ''] = scene.nodes;
      scene.machine(dead).powerOff();
      await scene.patch(resources.nodes, cordoned, [{ op: 'add', path: '/spec/unschedulable', value: true }]);
      await scene.unknown(dead);
      await scene.until('the taints', () => scene.taintsOf(dead).length > 0 && scene.taintsOf(cordoned).length > 0);
      const insisting = (name: string): Partial<PodSpec> => ({ nodeSelector: { 'kubernetes.io/hostname': name } });
      await refused(scene, await firstRefused(scene, 'on-cordoned', insisting(cordoned)), /were unschedulable/);
      await refused(scene, await firstRefused(scene, 'on-dead', insisting(dead)), /untolerated taint/);
      await deployment(scene, 'web', { replicas: 3 });
      const own = await allReady(scene, 'web', 3);
      same(new Set(own.map(({ spec }) => spec.nodeName)), new Set([good]));
    },
  },
  {
    name: 'a pod that avoids others is kept from them, and they from it',
    nodes: 2,
    async run(scene) {
      const at = (name: string): Record<string, string> => ({ 'kubernetes.io/hostname': name });
      const [first = '', second = ''] = scene.nodes;
      const terms = [{ labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' }];
      const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
      await scene.createPod('web-1', { nodeSelector: at(first) }, { app: 'web' });
      await scene.ready('web-1');
      await scene.createPod('loner-1', { nodeSelector: at(first), affinity });
      await refused(scene, 'loner-1', /didn't match pod anti-affinity rules/);
      await scene.createPod('loner-2', { nodeSelector: at(second), affinity });
      await scene.ready('loner-2');
      await scene.createPod('web-2', { nodeSelector: at(second) }, { app: 'web' });
      await refused(scene, 'web-2', /didn't satisfy existing pods anti-affinity rules/);
    },
  },
];
