/** What somebody may do from the console, as the API server says. Where it does not say, nothing is offered; whoever does it is asked again anyway. */
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { nodeFences } from '../kube/resources.ts';
import type { NodeAct } from './picture.ts';
import { NODE_ACTS } from './picture.ts';

const selfSubjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

interface Review extends KubeObject {
  status?: { allowed?: boolean };
}

/** An approval is a part of the status, which the operator writes too. */
const needed: Readonly<Record<NodeAct, { verb: string; subresource?: string }>> = {
  approve: { verb: 'update', subresource: 'status' },
  stop: { verb: 'patch' },
  resume: { verb: 'patch' },
  fence: { verb: 'patch' },
};

/** `client`: that of the person. */
export async function allowedActs(client: KubeClient): Promise<NodeAct[]> {
  const { group, plural: resource } = nodeFences;
  const answers = await Promise.all(
    NODE_ACTS.map(async (act) => {
      const resourceAttributes = { group, resource, ...needed[act] };
      const object = { metadata: {}, spec: { resourceAttributes } } as unknown as Review;
      const review = await client.create<Review>(selfSubjectAccessReviews, object);
      return review.ok && review.value.status?.allowed === true ? [act] : [];
    }),
  );
  return answers.flat();
}
