/** Whose object it is, from its metadata as the API server has it. */
import type { KubeObject } from './client.ts';

type Metadata = KubeObject['metadata'];
export type OwnerReference = NonNullable<Metadata['ownerReferences']>[number];

const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** Undefined: it has none, and nobody makes it again. */
export function controllerOf({ ownerReferences }: Metadata): OwnerReference | undefined {
  return ownerReferences?.find(({ controller }) => controller === true);
}

/** A copy in the API of what a kubelet runs from a file of its own. */
export function isMirror({ annotations }: Metadata): boolean {
  return annotations?.[mirrorAnnotation] !== undefined;
}
