/** Who somebody is to the server, and what he may do: asked by people, and by tools that write down on whose word they act. Nothing is stored. */
import { parseBody } from './decode.ts';
import type { Answer, Call } from './handler.ts';
import type { JsonRecord } from './object.ts';
import { isRecord } from './object.ts';
import { methodNotAllowed } from './status-error.ts';

interface Review {
  apiVersion: string;
  kind: string;
  statusOf: (call: Call) => JsonRecord;
}

const everything = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
};

const authorization = 'authorization.k8s.io/v1';

const reviews: Readonly<Record<string, Review>> = {
  '/apis/authentication.k8s.io/v1/selfsubjectreviews': {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    statusOf: ({ user }) => ({ userInfo: { username: user, groups: ['system:authenticated'] } }),
  },
  [`/apis/${authorization}/selfsubjectaccessreviews`]: {
    apiVersion: authorization,
    kind: 'SelfSubjectAccessReview',
    // There are no roles here: whoever reaches this server may do everything, and is told so.
    statusOf: () => ({ allowed: true, reason: 'this server has no roles: whoever reaches it may do everything' }),
  },
  [`/apis/${authorization}/selfsubjectrulesreviews`]: {
    apiVersion: authorization,
    kind: 'SelfSubjectRulesReview',
    statusOf: () => everything,
  },
};

/** Undefined: something else is asked. */
export function selfReview(call: Call): Answer | undefined {
  const review = Object.hasOwn(reviews, call.path) ? reviews[call.path] : undefined;
  if (review === undefined) return undefined;
  if (call.method !== 'POST') throw methodNotAllowed();
  const { apiVersion, kind, statusOf } = review;
  const asked = call.body === '' ? {} : parseBody(call.body);
  const spec = isRecord(asked) && isRecord(asked['spec']) ? { spec: asked['spec'] } : {};
  return { status: 201, text: JSON.stringify({ kind, apiVersion, metadata: {}, ...spec, status: statusOf(call) }) };
}
