/** What an act has come to. */
import type { Act } from '../api/steps.ts';
import type { KubeError } from '../kube/errors.ts';

export type ActOutcome =
  | { kind: 'done'; act: Act }
  /** It takes its time; how it is doing is asked in the next pass. */
  | { kind: 'begun'; act: Act }
  /** It was so already, or the object is gone. */
  | { kind: 'needless'; act: Act }
  /** Somebody changed what it rests on: decide anew. */
  | { kind: 'changed'; act?: Act; what: string }
  /** A device does not say what it rests on: ask again, but not at once. */
  | { kind: 'unconfirmed'; what: string }
  | { kind: 'failed'; act?: Act; error: KubeError };
