/**
 * A namesake in the very version that was read, as there may be after the store was restored from a backup: only its UID
 * tells that it is another object. One story for each write that names both.
 */
import type { Transport } from '../../../src/kube/transport.ts';
import type { World } from '../../../src/world/world.ts';
import type { Story, StoryOptions } from '../story.ts';
import { drain, edited, fromBefore } from './drains.ts';
import { matching, meanwhile, together } from './kit.ts';
import { ways } from './ways.ts';

const target = /^\/api(?:s\/([^/]+))?\/[^/]+\/(?:namespaces\/([^/]+)\/)?([^/]+)\/([^/?]+)/;

/** The first of these writes may be late for another reason. */
const tries = 3;

/** For as long as each of the first of these writes takes. */
function namesake(write: RegExp): StoryOptions {
  const isIt = matching(write);
  let world: World | undefined;
  const codes: number[] = [];
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      if (!user.startsWith('operator-') || codes.length >= tries || !isIt(request)) return inner.send(request);
      const [, group = '', namespace, plural = '', name = ''] = target.exec(request.path) ?? [];
      const found = world?.server.peek(group, plural, namespace === undefined ? name : `${namespace}/${name}`);
      if (found === undefined) throw new Error(`there is no ${request.path}`);
      const { uid } = found.metadata;
      Object.assign(found.metadata, { uid: 'another' });
      const response = await inner.send(request);
      Object.assign(found.metadata, { uid });
      codes.push(response.status);
      return response;
    },
    close: () => inner.close(),
  });
  return {
    wire,
    onWorld: (built) => (world = built),
    wrong: () => {
      if (codes.length === 0) return ['nothing was written'];
      return codes.some((code) => code < 300) ? [`${write.source} is carried out on a namesake`] : [];
    },
  };
}

function story(name: string, scenario: Story['scenario'], write: RegExp, also: () => StoryOptions = () => ({})): Story {
  return { name: `namesake, ${name}`, scenario, options: () => together(namesake(write), also()) };
}

const copies = ['node-1', 'node-2'];
const lastReplica = { policy: 'block-if-contains-last-replica', copies };
const forEviction = { policy: 'block-for-eviction', copies };
const budget = /^PATCH .*\/poddisruptionbudgets\/fenceline-instance-manager-node-1 /;

export const namesakeStories: readonly Story[] = [
  story(
    'a pod that is marked Failed',
    () => ways.policy('namesake-pod', { pod: { metadata: { finalizers: ['example.com/wait'] } } }),
    /^PATCH .*\/pods\/web-0\/status /,
  ),
  story('a budget that is announced to go', () => drain('namesake-announced', lastReplica), budget),
  story(
    'a budget that is mended',
    () => drain('namesake-mended', { ...lastReplica, events: [] }),
    budget,
    () => meanwhile({ 5: edited }),
  ),
  story('a replica that is asked to leave', () => drain('namesake-leaving', forEviction), /^PATCH .*\/replicas\//),
  story(
    'a storage node that is marked',
    () => drain('namesake-marked', forEviction),
    /^PATCH .*longhorn\.io.*\/nodes\/[^ ]*\/status .*true/,
  ),
  story(
    'a replica from before the upgrade',
    () => drain('namesake-upgrade', { ...lastReplica, objects: [fromBefore], events: [] }),
    /^PATCH .*\/replicas\/from-before /,
  ),
];
