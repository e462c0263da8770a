/** Tolerations as Kubernetes reads them, apart from the product's own reading. */
import type { Taint } from '../../world/objects/nodes.ts';
import type { Toleration } from '../../world/objects/pods.ts';

export function tolerates({ key = '', operator = '', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}
