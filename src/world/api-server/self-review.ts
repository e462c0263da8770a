/** Who somebody is to the server: asked by tools that write down on whose word they act. Nothing is stored. */
import type { Answer, Call } from './handler.ts';
import { methodNotAllowed } from './status-error.ts';

const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** Undefined: something else is asked. */
export function selfReview(call: Call): Answer | undefined {
  if (call.path !== path) return undefined;
  if (call.method !== 'POST') throw methodNotAllowed();
  const review = {
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: {},
    status: { userInfo: { username: call.user, groups: ['system:authenticated'] } },
  };
  return { status: 201, text: JSON.stringify(review) };
}
