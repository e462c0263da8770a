/** Which taints a pod puts up with. */
import type { Taint } from './nodes.ts';
import type { Toleration } from './pods.ts';

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? '') {
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    default:
      return false;
  }
}

/** The first taint with one of these effects that nothing tolerates. */
export function untolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly string[],
): Taint | undefined {
  return (taints ?? []).find(
    (taint) =>
      effects.includes(taint.effect) && !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}
