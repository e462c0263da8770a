/** What a kubelet does not let in, although it was bound to its node. */
import type { Pod } from '../../../../src/world/objects/pods.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same } from '../scene.ts';

const noExecute = { key: 'contract.test/leave', value: 'now', effect: 'NoExecute' };
const later = { key: 'contract.test/leave-later', effect: 'NoExecute' };

async function refused(scene: Scene, name: string): Promise<Pod> {
  const pod = await scene.podWhere(name, 'to be refused', ({ status }) => status?.phase === 'Failed');
  same(await scene.containers(pod), []);
  return pod;
}

export const refusingBehaviours: Behaviour[] = [
  {
    name: 'a pod that asks for more than the node has is refused',
    async run(scene) {
      const capacity = Number(scene.nodeObject.status?.allocatable?.['cpu']);
      const spec = scene.podSpec();
      const [container] = spec.containers;
      if (container === undefined) throw new Error('a pod has a container');
      const requests = { cpu: String(capacity + 1) };
      await scene.createPod('greedy', {}, { containers: [{ ...container, resources: { requests } }] });
      const { status } = await refused(scene, 'greedy');
      same(status?.reason, 'OutOfcpu');
      same(
        (status?.message ?? '').replace(/used: \d+/, 'used: N'),
        `Pod was rejected: Node didn't have enough resource: cpu, requested: ${(capacity + 1) * 1000}, used: N, capacity: ${capacity * 1000}`,
      );
    },
  },
  {
    name: 'a pod whose node selector does not fit the node is refused',
    async run(scene) {
      await scene.createPod('elsewhere', {}, { nodeSelector: { 'contract.test/role': 'another' } });
      const { status } = await refused(scene, 'elsewhere');
      same(
        [status?.reason, status?.message],
        [
          'NodeAffinity',
          "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ],
      );
    },
  },
  {
    name: 'a pod that does not tolerate a NoExecute taint is refused; one that tolerates it runs',
    alone: true,
    async run(scene) {
      await scene.taint(noExecute);
      await scene.until('the taint', () => scene.nodeObject.spec?.taints?.some(({ key }) => key === noExecute.key));
      // The kubelet may see its taint a little later than we do.
      await scene.stays(1000, () => {});
      await scene.createPod('refused', {}, { tolerations: [] });
      await scene.createPod('let-in', {}, { tolerations: [{ key: noExecute.key, operator: 'Exists' }] });
      const { status } = await refused(scene, 'refused');
      same(
        [status?.reason, status?.message],
        [
          'TaintToleration',
          "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
        ],
      );
      await scene.ready('let-in');
    },
  },
  {
    name: 'a NoExecute taint does not end what runs, until the kubelet starts anew',
    alone: true,
    async run(scene) {
      const tolerations = [{ key: noExecute.key, operator: 'Exists' }];
      await scene.createPod('runs', {}, { tolerations });
      const pod = await scene.ready('runs');
      await scene.taint(later);
      await scene.until('the taint', () => scene.nodeObject.spec?.taints?.some(({ key }) => key === later.key));
      await scene.stays(3000, async () => same((await scene.containers(pod)).length, 1));
      await scene.node.stopKubelet();
      await scene.node.startKubelet();
      await scene.stopped(pod);
      // Refused is failed, but a container that ended well meanwhile may have the last word.
      const ends = ['Failed', 'Succeeded'];
      await scene.podWhere('runs', 'to have ended', ({ status }) => ends.includes(status?.phase ?? ''));
      await scene.stays(2000, async () => same(await scene.containers(pod), []));
    },
  },
];
