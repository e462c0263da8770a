/**
 * S17: what an operator has written is read before it decides anew. A decision shows as a write to the NodeFence: since
 * the operator last did something to that node, its pods or its attachments, it has read the Node and the NodeFence. And
 * a second act on one pod rests on the version that the first one made, not on an earlier one.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import { compareVersions } from '../../kube/resource-version.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { VolumeAttachment } from '../../world/objects/volumes.ts';
import type { Invariant, Write } from './checker.ts';
import { objectOf, succeeded } from './checker.ts';
import { Reads } from './reads.ts';

const fencePath = '/apis/fenceline.dev/v1alpha1/nodefences/';

export const s17: Invariant = {
  id: 'S17',
  check: ({ violated }) => {
    const reads = new Reads();
    /** When an operator last did something to a node: `user node`. */
    const acted = new Map<string, number>();
    /** The version that an operator made of a pod: `user uid`. */
    const made = new Map<string, string>();
    return {
      onWire(event) {
        reads.take(event);
        if (event.type !== 'started') return;
        for (const map of [acted, made]) {
          for (const key of map.keys()) if (key.startsWith(`operator-${event.operator} `)) map.delete(key);
        }
      },
      onWrite(write) {
        const { user } = write;
        if (write.resource === 'nodefences') {
          const node = nodeOfFence(write);
          const since = acted.get(`${user} ${node}`);
          const unread = [`/api/v1/nodes/${node}`, fencePath + nodeFenceName(node)].filter(
            (path) => since !== undefined && (reads.of(user, path)?.order ?? 0) < since,
          );
          if (unread.length > 0) violated(`decided about ${node} without a look at what it had done to it before`);
          return;
        }
        const node = nodeOf(write);
        if (node !== undefined && succeeded(write)) acted.set(`${user} ${node}`, reads.mark());
        if (write.resource !== 'pods') return;
        const rests = testedIn(write.body, 'resourceVersion');
        const key = `${user} ${testedIn(write.body, 'uid') ?? write.before?.metadata.uid}`;
        const own = made.get(key);
        if (own !== undefined && rests !== undefined && compareVersions(rests, own) < 0) {
          violated(`${write.verb} of ${objectOf(write)} rests on a version from before its own last write`);
        }
        const { resourceVersion } = write.after?.metadata ?? {};
        if (succeeded(write) && resourceVersion !== undefined) made.set(key, resourceVersion);
      },
    };
  },
};

function nodeOfFence({ name = '' }: Write): string {
  return name.slice(nodeFenceName('').length);
}

function nodeOf({ resource, name, before, after }: Write): string | undefined {
  const object = before ?? after;
  if (resource === 'nodes') return name;
  if (resource === 'pods') return (object as Pod | undefined)?.spec.nodeName;
  return resource === 'volumeattachments' ? (object as VolumeAttachment | undefined)?.spec.nodeName : undefined;
}

/** What a write rests on, where it says so: also one that is refused because of that was decided without a look. */
function testedIn(body: unknown, field: 'uid' | 'resourceVersion'): string | undefined {
  if (Array.isArray(body)) {
    const tests = body as { op?: string; path?: string; value?: unknown }[];
    const found = tests.find(({ op, path }) => op === 'test' && path === `/metadata/${field}`)?.value;
    return typeof found === 'string' ? found : undefined;
  }
  return (body as { preconditions?: Record<string, string> } | undefined)?.preconditions?.[field];
}
