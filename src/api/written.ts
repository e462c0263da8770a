/**
 * Policies as they are stored, derived from their schemas. Nothing of them is relied upon, because the CRD that checked
 * them may be older or newer than the operator.
 */
import type { DrainPolicyInput } from './drain-policy.ts';
import type { RemedyPolicyInput } from './remedy-policy.ts';

type Written<T> = T extends readonly (infer Element)[]
  ? readonly Written<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Written<T[Key]> | undefined }
    : T;

export type WrittenPolicy = Written<RemedyPolicyInput['spec']>;
export type WrittenDrainPolicy = Written<DrainPolicyInput['spec']>;

/** What of any object is needed here. */
export interface StoredObject<Spec> {
  metadata: { name: string; uid?: string; generation?: number; creationTimestamp?: string };
  spec?: Spec;
}
