/** What the API server has answered; whatever went wrong is said to whoever typed. */
import type { Result } from '../kube/errors.ts';
import { UserError } from './user-error.ts';

export function taken<T>(result: Result<T>): T {
  if (!result.ok) throw new UserError(result.error.message);
  return result.value;
}
