import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCase, anAttachment, aPod, aVolume, driver, entry } from '../../test/support/release-case.ts';
import type { PodFacts, VolumeFacts } from '../api/release-view.ts';
import { keptBy } from './kept.ts';

const migrated = 'kubernetes.io/csi/pd.csi.storage.gke.io^projects/x/disks/pv-0';
const inline = anAttachment({ name: 'csi-1', volume: 'pd.csi.storage.gke.io^disk-1', inline: true });
const other = anAttachment({ name: 'csi-2', volume: 'pv-9' });
const unreadable = anAttachment({ name: 'csi-3', volume: '' });

/** Which of the attachments, then which of the entries, are kept by a pod with this volume. */
function kept(pod: Partial<PodFacts>, volume: VolumeFacts = aVolume()): string {
  const nodeCase = aCase({ pods: [aPod(pod)], volumes: { 'default/data-web-0': volume } });
  const used = keptBy(nodeCase, nodeCase.pods);
  const attachments = { own: anAttachment(), inline, other, unreadable };
  const entries = { own: entry, migrated };
  const names = (all: object, is: (one: never) => boolean): string =>
    Object.entries(all)
      .filter(([, one]) => is(one as never))
      .map(([name]) => name)
      .join(' ');
  return `${names(attachments, used.attachment)} | ${names(entries, used.entry)}`;
}

test('[SAF-13] a volume of a driver is kept by its names', () => {
  assert.equal(kept({}), 'own unreadable | own');
  assert.equal(kept({ phase: 'Failed' }), 'unreadable | ', 'by what is over nothing is');
});

test('[SAF-13] one of the old kind keeps its attachment by the name of its PersistentVolume, and every entry', () => {
  const { csi: _, ...old } = aVolume() as Extract<VolumeFacts, { known: true }>;
  assert.equal(kept({}, { ...old, inTree: true }), 'own unreadable | own migrated');
  assert.equal(kept({}, { ...old, inTree: false }), 'own unreadable | ', 'not where nothing is attached, as with NFS');
});

test('[SAF-13] an inline one keeps all that are inline, and every entry', () => {
  assert.equal(kept({ claims: [], attachesDirectly: true }), 'inline unreadable | own migrated');
});

test('[SAF-13] what cannot be read keeps everything', () => {
  const lost = {
    claim: 'default/data-web-0',
    known: false,
    reason: 'Unreadable',
    message: `${driver} is away`,
  } as const;
  assert.equal(kept({}, lost), 'own inline other unreadable | own migrated');
});
