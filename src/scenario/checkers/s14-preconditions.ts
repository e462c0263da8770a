/**
 * S14: a UID precondition on every delete and eviction, a test of the UID or the resourceVersion on every write to
 * somebody else's object. Without one, a newcomer of the same name would be hit. And what is done because of a node, to its
 * pods, by a Job or to its Machine, is done because of the node that is there, and not of an earlier one of its name.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { Invariant, Write } from './checker.ts';
import { objectOf } from './checker.ts';
import { longActOf } from './long-act.ts';

const ourGroup = 'fenceline.dev/';

export const s14: Invariant = {
  id: 'S14',
  check: ({ state, violated }) => ({
    onWrite(write) {
      const missing = missingIn(write);
      if (missing !== undefined) violated(`${write.verb} of ${objectOf(write)} without ${missing}`);
      const act = longActOf(write, state);
      if (act !== undefined && isNewcomer(act, state)) {
        violated(`${act.told}, and ${act.node} is another node of the same name than the one in trouble`);
      }
    },
  }),
};

/** Both have to be known: a request without an incident, or a node that is gone, is nobody's newcomer. */
function isNewcomer({ node, nodeUid }: { node: string; nodeUid?: string }, state: ClusterState): boolean {
  const meant = nodeUid ?? state.fences.get(nodeFenceName(node))?.status?.incident?.nodeUid;
  const there = state.nodes.get(node)?.metadata.uid;
  return meant !== undefined && there !== undefined && meant !== there;
}

/** What is asked counts, not whether the server carried it out: the next time it might. */
function missingIn(write: Write): string | undefined {
  const { verb, body, subresource } = write;
  switch (verb) {
    case 'deletecollection':
      return 'naming what is to be deleted';
    case 'delete':
      return hasUid(body) ? undefined : 'a UID precondition';
    case 'create':
      if (subresource !== 'eviction') return undefined;
      return hasUid((body as { deleteOptions?: unknown }).deleteOptions) ? undefined : 'a UID precondition';
    case 'update':
      return isOurs(write) || namesVersion(body) ? undefined : 'a resourceVersion';
    case 'patch':
      return isOurs(write) || namesVersion(body) || tests(body) ? undefined : 'a test of UID or resourceVersion';
  }
}

function isOurs({ before, after, resource }: Write): boolean {
  return ((before ?? after)?.apiVersion?.startsWith(ourGroup) ?? false) || resource === 'events';
}

function hasUid(options: unknown): boolean {
  return (options as { preconditions?: { uid?: string } } | null | undefined)?.preconditions?.uid !== undefined;
}

function namesVersion(body: unknown): boolean {
  const metadata = (body as { metadata?: { uid?: string; resourceVersion?: string } } | null | undefined)?.metadata;
  return metadata?.resourceVersion !== undefined || metadata?.uid !== undefined;
}

function tests(body: unknown): boolean {
  if (!Array.isArray(body)) return false;
  const paths = ['/metadata/uid', '/metadata/resourceVersion'];
  return (body as { op?: string; path?: string }[]).some(({ op, path = '' }) => op === 'test' && paths.includes(path));
}
