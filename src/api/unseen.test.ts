import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aPod } from '../../test/support/release-case.ts';
import type { NodeCase, PodFacts, VolumeFacts } from './release-view.ts';
import { unseenVolume } from './unseen.ts';

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
