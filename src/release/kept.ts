/**
 * What pods that stay go on using (SAF-13): no attachment and no entry of `volumesInUse` goes that may be theirs. A volume of
 * the old kind is attached by the driver that it was migrated to, under a name that only that one knows; an inline one has
 * not even a PersistentVolume by which it could be told. What cannot be told is kept.
 */
import { isOver, nameInUse } from '../api/facts.ts';
import type { AttachmentFacts, NodeCase, PodFacts } from '../api/release-view.ts';
import { isKnown, volumesOf } from './checks.ts';

export interface Kept {
  /** The PersistentVolumes that are known to be used. */
  volumes: ReadonlySet<string>;
  /** Some could not be read. */
  isUnknown: boolean;
  attachment: (attachment: AttachmentFacts) => boolean;
  entry: (entry: string) => boolean;
  /** The entries that are known to be theirs. */
  named: ReadonlySet<string>;
}

/** By these pods, as far as they are not over. */
export function keptBy(nodeCase: NodeCase, pods: readonly PodFacts[]): Kept {
  const staying = pods.filter((pod) => !isOver(pod));
  const all = staying.flatMap((pod) => volumesOf(nodeCase, pod));
  const used = all.filter(isKnown);
  const isUnknown = used.length < all.length;
  const hasInline = staying.some(({ attachesDirectly }) => attachesDirectly);
  const isUnnamed = isUnknown || hasInline || used.some(({ inTree }) => inTree === true);
  const volumes = new Set(used.map(({ volume }) => volume));
  const named = new Set(used.flatMap((volume) => nameInUse(volume) ?? []));
  return {
    volumes,
    isUnknown,
    attachment: ({ volume, inline = false }) =>
      isUnknown || volume === '' || volumes.has(volume) || (inline && hasInline),
    entry: (entry) => isUnnamed || named.has(entry),
    named,
  };
}
