/** What is thought of a node before anything else is asked: each question of that list decides what people are told, or what is done. */
import type { NodeFenceStatus } from '../../../src/api/node-fence.ts';
import { nodes } from '../../../src/kube/resources.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import type { Invariant } from '../../../src/scenario/checkers/checker.ts';
import type { Story, StoryOptions } from '../story.ts';
import { ballast } from './cast.ts';
import type { Asked, Deed } from './kit.ts';
import { deviceAsked, meanwhile, together, watching } from './kit.ts';
import { moved, place, ways } from './ways.ts';

const commandsOf = (asked: readonly Asked[]): Asked[] => asked.filter(({ action }) => action !== 'status');
const untold = (): StoryOptions =>
  deviceAsked((asked) =>
    commandsOf(asked).map(({ action, seconds }) => `its device is told ${action} at ${seconds} s`),
  );

/** Lists and watches of Nodes and Leases, which is how an operator sees them; single objects can still be read. */
const looks = /^\/api\/v1\/nodes\?|^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases\?/;

/** From so many seconds on, operators see no Nodes and no Leases any more. */
function blindfolded(seconds: number): StoryOptions {
  let isBlind = false;
  const wire = (user: string, inner: Transport): Transport => ({
    send: async (request) =>
      isBlind && user.startsWith('operator-') && looks.test(request.path)
        ? inner.send({ ...request, path: '/not-there' })
        : inner.send(request),
    close: () => inner.close(),
  });
  const blind: Deed = async (other) => {
    isBlind = true;
    other.world.server.faults.breakWatches();
  };
  return { ...meanwhile({ [seconds]: blind }), wire };
}

/** From so many seconds on, operators are answered, and their watches of Nodes and Leases say nothing any more. */
function leftBehind(seconds: number): StoryOptions {
  let isBehind = false;
  async function* heard(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) if (!isBehind) yield chunk;
  }
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      const response = await inner.send(request);
      const isWatch = looks.test(request.path) && request.path.includes('watch=1');
      return isWatch && user.startsWith('operator-') ? { ...response, body: heard(response.body) } : response;
    },
    close: () => inner.close(),
  });
  return { ...meanwhile({ [seconds]: async () => void (isBehind = true) }), wire };
}

/** Looked at each time that the record of a node is stored. */
const onRecord = (wrong: (status: NodeFenceStatus, node: string) => string | undefined): Invariant => ({
  id: 'record',
  check: ({ violated }) => ({
    onStored({ object }) {
      if (object.kind !== 'NodeFence') return;
      const { status, spec } = object as { status?: NodeFenceStatus; spec?: { node?: string } };
      const found = status === undefined ? undefined : wrong(status, spec?.node ?? '');
      if (found !== undefined) violated(found);
    },
  }),
});

const unrecorded = (): StoryOptions => watching([onRecord((_, node) => `there is a record of ${node}`)]);

/** Nobody has the pods of this node listed. */
function unwatched(node: string): StoryOptions {
  const wrong: string[] = [];
  const wire = (user: string, inner: Transport): Transport => ({
    send: async (request) => {
      const isIt = request.path.startsWith(`/api/v1/pods?fieldSelector=spec.nodeName%3D${node}&`);
      if (isIt && user.startsWith('operator-')) wrong.push(`${user} looks at the pods of ${node}`);
      return inner.send(request);
    },
    close: () => inner.close(),
  });
  return { wire, wrong: () => wrong };
}

const requested = {
  at: '40s',
  apply: {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: 'node-fence-node-3' },
    spec: { node: 'node-3', requested: { by: 'somebody', at: '2026-01-01T00:01:10Z' } },
  },
};

const blindStories: readonly Story[] = [
  {
    name: 'judged, by somebody who sees nothing any more',
    // A person's request waits for nobody else to be heard of, and no limit holds it back.
    scenario: () =>
      ways.power('judged-blind', {
        policy: { storm: { maxUnresponsive: '100%' } },
        events: [requested],
        runFor: '80s',
      }),
    options: () => together(blindfolded(10), untold()),
  },
  {
    name: 'judged, by somebody who sees what was long ago',
    // A watch that stays behind gives way to a list after 100 s.
    scenario: () => ways.power('judged-behind', { events: [{ at: '66s', partition: place }], runFor: '98s' }),
    options: () => together(leftBehind(1), untold()),
  },
];

const newcomer: Deed = (other) => other.create(nodes, { metadata: { name: 'newcomer' } });

const verdictStories: readonly Story[] = [
  {
    name: 'judged, as soon as its Lease is not renewed',
    // Kubernetes needs 20 s.
    scenario: () =>
      ways.power('judged-early', { events: [{ at: '0s', powerOff: place }], expect: [moved('19s')], runFor: '20s' }),
  },
  {
    name: 'judged, a node that has not reported yet',
    scenario: () => ways.policy('judged-newcomer', { events: [{ at: '0s', uncordon: 'node-1' }], runFor: '30s' }),
    options: () => together(unrecorded(), meanwhile({ 1: newcomer })),
  },
  {
    name: 'judged, a node that is gone',
    scenario: () =>
      ways.policy('judged-gone', {
        events: [
          { at: '0s', powerOff: place },
          { at: '27s', deleteNode: place },
        ],
        pod: { spec: { terminationGracePeriodSeconds: 30 } },
        runFor: '50s',
      }),
    options: () =>
      watching([
        onRecord(({ verdict }, node) => (verdict === 'unknown' ? `${node} is recorded as ${verdict}` : undefined)),
      ]),
  },
  {
    name: 'judged, a node that somebody has taken out',
    scenario: () =>
      ways.policy('judged-taken-out', {
        objects: ballast,
        events: [{ at: '1s', deleteNode: 'node-1' }],
        runFor: '30s',
      }),
    options: () =>
      together(unwatched('node-1'), meanwhile({ 0: async (other) => other.world.fleet.kubelet('node-1').stop() })),
  },
];

const alarmed = (reason: string) => (status: NodeFenceStatus) =>
  status.conditions.find(({ type }) => type === 'Alarm')?.reason === reason;

/** The last record of the run says so. */
export function inTheEnd(fits: (status: NodeFenceStatus) => boolean, what: string): StoryOptions {
  let last: NodeFenceStatus | undefined;
  const listening = onRecord((status) => {
    last = status;
    return undefined;
  });
  return { ...watching([listening]), wrong: () => (last !== undefined && fits(last) ? [] : [what]) };
}

const alarmStories: readonly Story[] = [
  {
    name: 'an alarm that is over',
    scenario: () =>
      ways.power('alarm', {
        policy: { alarms: [{ condition: 'Ready', count: 1, within: '2m' }] },
        events: [
          { at: '0s', powerOff: place },
          { at: '20s', powerOn: place },
        ],
        runFor: '160s',
      }),
    options: () => inTheEnd(alarmed('NoAlarm'), 'the alarm still stands'),
  },
];

export const judgedStories: readonly Story[] = [...blindStories, ...verdictStories, ...alarmStories];
