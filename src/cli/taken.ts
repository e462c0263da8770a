/** What the API server has answered; whatever went wrong is said to whoever typed. */
import type { KubeError, KubeErrorKind, Result } from '../kube/errors.ts';
import { NO_ANSWER, UserError } from './user-error.ts';

export function taken<T>(result: Result<T>): T {
  if (!result.ok) throw apiFailure(result.error);
  return result.value;
}

/** Nobody has answered: what was asked is neither so nor not so. */
const unanswered: ReadonlySet<KubeErrorKind> = new Set(['unreachable', 'timeout', 'unauthorized']);

/** A guard or a webhook refuses in its own words. */
const isOfRights = /User ".*" cannot /;

export function apiFailure({ kind, message }: Pick<KubeError, 'kind' | 'message'>, told = message): UserError {
  // The API server says which right is missing, and not who needs which.
  const rights =
    kind === 'forbidden' && isOfRights.test(message)
      ? ' (who needs which rights: docs/install.md#rights-of-people)'
      : '';
  return new UserError(`${told}${rights}`, unanswered.has(kind) ? NO_ANSWER : 1);
}
