/** What stories are made of, beyond a scenario: who comes in between, and what is looked at besides the invariants. */
import type { NodeFenceStatus } from '../../../src/api/node-fence.ts';
import type { Clock } from '../../../src/clock.ts';
import type { JsonPatchOperation, KubeObject } from '../../../src/kube/client.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import type { ObjectRef, Resource } from '../../../src/kube/resources.ts';
import { nodes, pods } from '../../../src/kube/resources.ts';
import type { HttpRequest, Transport } from '../../../src/kube/transport.ts';
import type { Invariant } from '../../../src/scenario/checkers/checker.ts';
import { invariants } from '../../../src/scenario/checkers/index.ts';
import { isReady } from '../../../src/world/objects/meta.ts';
import type { Node } from '../../../src/world/objects/nodes.ts';
import type { World } from '../../../src/world/world.ts';
import type { StoryOptions } from '../story.ts';

/** Where the scheduler puts the pod with the volume, with the seed of these stories. */
export const victim = 'node-3';

/** Somebody else, who may write whatever there is. */
export class Other {
  readonly world: World;
  readonly clock: Clock;
  readonly client: KubeClient;

  constructor(world: World, clock: Clock) {
    this.world = world;
    this.clock = clock;
    const transport = world.server.transport('kubernetes-admin');
    this.client = new KubeClient({ transport, clock, userAgent: 'kubectl', fieldManager: 'kubectl' });
  }

  async get<T extends KubeObject>(ref: ObjectRef): Promise<T> {
    const read = await this.client.get<T>(ref);
    if (!read.ok) throw new Error(read.error.message);
    return read.value;
  }

  async patch(ref: ObjectRef, operations: JsonPatchOperation[], subresource?: string): Promise<void> {
    const { uid = '' } = (await this.get(ref)).metadata;
    const done = await this.client.patch(ref, { uid }, operations, subresource === undefined ? {} : { subresource });
    if (!done.ok) throw new Error(done.error.message);
  }

  /** Deletes it and makes it again, the same but for its UID. */
  async replace(ref: ObjectRef): Promise<void> {
    const { status, ...object } = await this.get<KubeObject & { status?: object }>(ref);
    await this.remove(ref);
    const { name, namespace, labels, annotations } = object.metadata;
    const metadata = {
      name,
      ...(namespace && { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    };
    await this.create(ref.resource, { ...object, metadata });
    if (status !== undefined && ref.resource === nodes) {
      await this.patch(ref, [{ op: 'add', path: '/status', value: status }], 'status');
    }
  }

  async create(resource: Resource, object: object): Promise<void> {
    const made = await this.client.create(resource, object as KubeObject);
    if (!made.ok) throw new Error(made.error.message);
  }

  /** Deletes the pods of a node, each with its own time. */
  async askToGo(node: string): Promise<void> {
    const listed = await this.client.list(pods, { fieldSelector: `spec.nodeName=${node}` });
    if (!listed.ok) throw new Error(listed.error.message);
    for (const { metadata } of listed.value.items) {
      const { name, namespace = '', uid = '' } = metadata;
      await this.client.delete({ resource: pods, namespace, name }, { uid });
    }
  }

  async remove(ref: ObjectRef): Promise<void> {
    const { uid = '' } = (await this.get(ref)).metadata;
    const done = await this.client.delete(ref, { uid }, { gracePeriodSeconds: 0 });
    if (!done.ok) throw new Error(done.error.message);
  }
}

export type Deed = (other: Other) => Promise<void>;
export type Matcher = (request: HttpRequest) => boolean;

/** The same, and no operator hears of it by its watches: only who reads live finds out. */
export function unheard(deed: Deed): Deed {
  return async (other) => {
    other.world.server.faults.lag((user) => (user.startsWith('operator-') ? 60_000 : 0));
    await deed(other);
  };
}

const none: Matcher = () => false;

/** Such as `PATCH /api/v1/nodes/node-3/status {…}`. */
export function matching(pattern: RegExp): Matcher {
  return ({ method, path, body = '' }) => pattern.test(`${method} ${path.split('?', 1)[0]} ${body}`);
}

/** The second, or whichever, that fits. */
export function nth(number: number, matcher: Matcher): Matcher {
  let seen = 0;
  return (request) => matcher(request) && (seen += 1) >= number;
}

export const isWrite: Matcher = ({ method, path }) => method !== 'GET' && !/\/(leases|events)(\/|\?|$)/.test(path);
/** Writes by which something is let go. */
export const lets: Matcher = matching(
  /^(PATCH \/api\/v1\/nodes\/[^ ]*\/status |DELETE .*\/(pods|volumeattachments|nodes|machines)\/|PATCH .*\/pods\/[^ ]*\/status )/,
);
/** The first record of a release. */
export const recordsRelease = matching(/^PUT .*\/nodefences\/[^ ]*\/status .*"releases":\[\{/);

interface Between {
  /** When somebody comes in between: right before this request of an operator reaches the server, or right after. */
  before?: Matcher;
  after?: Matcher;
  deed: Deed;
  /** What must not be carried out then, besides that a device is told, and until when: whoever decides anew may come to the same. */
  not?: Matcher;
  until?: Matcher;
  /** Only the first such write is watched. */
  once?: boolean;
}

/** Once in a run, between what an operator reads and what it writes, somebody else does something. */
export function between({ before, after, deed, not = none, until = none, once = false }: Between): StoryOptions {
  let other: Other | undefined;
  let stage = 'waiting' as 'waiting' | 'watching' | 'over';
  const wrong: string[] = [];
  const came = async (): Promise<void> => {
    stage = 'watching';
    if (other !== undefined) await deed(other);
  };
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      if (!user.startsWith('operator-')) return inner.send(request);
      if (stage === 'waiting' && before?.(request) === true) await came();
      else if (stage === 'watching' && until(request)) stage = 'over';
      const isWatched = stage === 'watching' && not(request);
      const response = await inner.send(request);
      if (isWatched && response.status < 300) wrong.push(`${nameOf(request)} although somebody came in between`);
      if (isWatched && once) stage = 'over';
      if (stage === 'waiting' && after?.(request) === true && response.status < 300) await came();
      return response;
    },
    close: () => inner.close(),
  });
  return {
    wire,
    onWorld: (world, clock) => {
      other = new Other(world, clock);
      for (const [node, bmc] of world.bmcs) {
        const request = bmc.request.bind(bmc);
        bmc.request = (action, signal) => {
          if (stage === 'watching' && action !== 'status') {
            wrong.push(`the device of ${node} is told ${action} although somebody came in between`);
          }
          return request(action, signal);
        };
      }
    },
    wrong: () => (stage === 'waiting' ? ['nobody came in between'] : wrong),
  };
}

/** Somebody comes between what it has read and this write, which must not be carried out then. */
export function overtaken(write: RegExp, deed: Deed): StoryOptions {
  return between({ before: matching(write), deed, not: matching(write), once: true });
}

/** The same, after somebody has done something else already. */
export function overtakenAfter(first: { after: Matcher; deed: Deed }, write: RegExp, deed: Deed): StoryOptions {
  let isDone = false;
  const prepared = between({
    ...first,
    deed: async (other) => {
      await first.deed(other);
      isDone = true;
    },
    until: () => true,
  });
  const isIt = matching(write);
  const then = between({ before: (request) => isDone && isIt(request), deed, not: isIt, once: true });
  return {
    ...together(prepared, then),
    wire: (user, inner) => prepared.wire?.(user, then.wire?.(user, inner) ?? inner) ?? inner,
  };
}

function nameOf({ method, path }: HttpRequest): string {
  return `${method} ${path.split('?', 1)[0]}`;
}

/** Other deeds, at their times after time 0. */
export function meanwhile(deeds: Readonly<Record<string, Deed>>): StoryOptions {
  let other: Other | undefined;
  const wrong: string[] = [];
  return {
    onWorld: (world, clock) => (other = new Other(world, clock)),
    onZero: () => {
      for (const [seconds, deed] of Object.entries(deeds)) {
        other?.clock.after(Number(seconds) * 1000, () => {
          if (other !== undefined) deed(other).catch((error: unknown) => wrong.push(String(error)));
        });
      }
    },
    wrong: () => wrong,
  };
}

export interface Asked {
  /** After time 0. */
  seconds: number;
  action: string;
}

/** All that the device of the victim is asked and told, looked at when the run is over. */
export function deviceAsked(wrong: (asked: readonly Asked[]) => string[]): StoryOptions {
  const asked: Asked[] = [];
  let now = (): number => 0;
  let zeroMs = 0;
  return {
    onWorld: (world, clock) => {
      now = () => clock.monotonic();
      const bmc = world.bmcs.get(victim);
      if (bmc === undefined) throw new Error(`${victim} has no device`);
      const request = bmc.request.bind(bmc);
      bmc.request = (action, signal) => {
        asked.push({ seconds: (now() - zeroMs) / 1000, action });
        return request(action, signal);
      };
    },
    onZero: () => (zeroMs = now()),
    wrong: () => wrong(asked),
  };
}

/** The one and the other; what lies on the wire is that of the first. */
export function together(one: StoryOptions, other: StoryOptions): StoryOptions {
  return {
    ...one,
    onWorld: (world, clock) => {
      one.onWorld?.(world, clock);
      other.onWorld?.(world, clock);
    },
    onZero: () => {
      one.onZero?.();
      other.onZero?.();
    },
    wrong: (report) => [...(one.wrong?.(report) ?? []), ...(other.wrong?.(report) ?? [])],
  };
}

/** What is looked at as well. */
export function watching(more: readonly Invariant[], options: StoryOptions = {}): StoryOptions {
  return { ...options, invariants: [...invariants, ...more] };
}

/** Called for every pod that is recorded as released, once. */
function onRecord(
  id: string,
  wrong: (pod: { name: string; basis: string; node: Node | undefined }) => string | undefined,
): Invariant {
  return {
    id,
    check: ({ state, violated }) => {
      const seen = new Set<string>();
      return {
        onStored({ object }) {
          const { status, spec } = object as { status?: NodeFenceStatus; spec?: { node?: string } };
          if (object.kind !== 'NodeFence') return;
          for (const { basis, recordedAt, pods: released } of status?.releases ?? []) {
            for (const { uid, name } of released) {
              const key = `${basis} ${recordedAt} ${uid}`;
              const found = seen.has(key) ? undefined : wrong({ name, basis, node: state.nodes.get(spec?.node ?? '') });
              seen.add(key);
              if (found !== undefined) violated(found);
            }
          }
        },
      };
    },
  };
}

/** Grounds would hold back the act, but the record tells people of it. */
export const noEarlyRecord = onRecord('record', ({ name, basis, node }) =>
  basis !== 'PowerOff' && isReady(node) ? `pod ${name} is recorded as released from a Ready node` : undefined,
);

export function noRecord(pod: string, way?: string): Invariant {
  return onRecord('record', ({ name, basis }) =>
    name === pod && (way === undefined || way === basis)
      ? `pod ${name} is recorded as released by ${basis}`
      : undefined,
  );
}

/** What is told of a pod that is not released, each time that it changes. */
export function told(pod: string, check: (message: string, reason: string) => string | undefined): Invariant {
  return {
    id: 'told',
    check: ({ violated }) => ({
      onStored({ object }) {
        if (object.kind !== 'NodeFence') return;
        const { stuck = [] } = (object as { status?: Partial<NodeFenceStatus> }).status ?? {};
        for (const { name, message, reason } of stuck) {
          const wrong = name === pod ? check(message, reason) : undefined;
          if (wrong !== undefined) violated(`${wrong}: ${message}`);
        }
      },
    }),
  };
}
