import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aPod } from '../../test/support/release-case.ts';
import type { NodeCase, PodFacts, VolumeFacts } from './release-view.ts';
import { hiddenForSeconds, unseenVolume } from './unseen.ts';

const base = aCase();
const [key = '', volume] = Object.entries(base.volumes)[0] ?? [];
const known = volume as Extract<VolumeFacts, { known: true }>;
const driver = known.csi?.driver ?? '';

function withVolumes(volumes: NodeCase['volumes'], drivers: NodeCase['drivers'] = base.drivers): NodeCase {
  return aCase({ volumes, drivers });
}

describe('[SAF-4] a volume that no kubelet reports', () => {
  const { csi: _, ...old } = known;
  const attachless = { [driver]: { name: driver, safeDetach: false, unpublishFence: false, attachless: true } };
  const rows: [string, string | undefined, NodeCase, Partial<PodFacts>][] = [
    ['one that is attached shows', undefined, base, {}],
    ['so does that of a driver without an object', undefined, withVolumes(base.volumes, {}), {}],
    ['of a driver that does not attach', 'pv-0', withVolumes(base.volumes, attachless), {}],
    ['without a CSI driver', 'pv-0', withVolumes({ [key]: old }), {}],
    ['that could not be read', `claim ${key}`, withVolumes({}), {}],
    ['without a claim', 'data (iscsi)', base, { directVolumes: ['data (iscsi)'] }],
  ];
  for (const [when, expected, nodeCase, pod] of rows) {
    test(when, () => assert.equal(unseenVolume(nodeCase, aPod(pod)), expected));
  }
});

describe('[NGS-7] how long a pod may go on unseen', () => {
  const pod = aPod({ endsWithinSeconds: 90 });
  const besides = (other: Partial<PodFacts>): number | undefined =>
    hiddenForSeconds(aCase({ pods: [pod, aPod({ uid: 'pod-1', ...other })] }), pod);

  test('a volume of its own shows that it has ended', () => {
    assert.equal(hiddenForSeconds(aCase({ pods: [pod] }), pod), undefined);
    assert.equal(besides({ claims: [] }), undefined);
    assert.equal(besides({ claims: [{ volume: 'data', claim: 'data-web-1' }] }), undefined);
    assert.equal(besides({ namespace: 'another' }), undefined, 'of the same name in another namespace');
    const claims = [...pod.claims, { volume: 'log', claim: 'log' }];
    assert.equal(hiddenForSeconds(aCase({ pods: [pod, aPod({ uid: 'pod-1' })] }), { ...pod, claims }), undefined);
  });

  test('nothing does of one without, or with one that another uses as well', () => {
    assert.equal(hiddenForSeconds(aCase(), { ...pod, claims: [] }), 90);
    assert.equal(besides({}), 90);
    assert.equal(besides({ claims: [{ volume: 'x', claim: 'x' }, ...pod.claims] }), 90);
  });
});
