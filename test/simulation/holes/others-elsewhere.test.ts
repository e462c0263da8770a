/** Others who say by objects of their own that they are at work on a node are not raced either, whatever is on the Node. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { commands, fenced, partition, victimOf } from '../fencing/fenced.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import type { World } from '../../../src/world/world.ts';

const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

/** As it is installed with the other one. */
function definition(kind: string, group: string, scope = 'Namespaced'): object {
  const singular = kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.${group}` },
    spec: {
      group,
      names: { plural: `${singular}s`, singular, kind },
      scope,
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
    },
  };
}

const far = 'fence-agents-remediation.medik8s.io';
const farDefinition = definition('FenceAgentsRemediation', far);

/** Made by the time that the node has fallen silent, and not before: it is not known from before. */
const remediation = (more: object = {}, meta: object = {}): object => ({
  apiVersion: `${far}/v1alpha1`,
  kind: 'FenceAgentsRemediation',
  metadata: { name: 'node-3', namespace: 'default', ...meta },
  spec: { agent: 'fence_ipmilan', sharedparameters: { '--password': 'do-not-tell' } },
  ...more,
});

const over = {
  status: {
    conditions: [
      { type: 'Processing', status: 'False' },
      { type: 'Succeeded', status: 'True' },
    ],
  },
};

describe('a node that somebody else remedies by an object of its own', () => {
  test('[ADM-6] is left to that one while it exists, and says who, by what and since when', async () => {
    const events = [{ at: '0s', apply: remediation() }, partition[0]!];
    const seen = await observe(fenced('left', { objects: [farDefinition], events, runFor: '2m' }));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual([victimOf(seen), commands(seen)], ['node-3', []]);
    const { hold } = statusAt(seen);
    assert.equal(hold?.reason, 'LeftToOthers');
    assert.match(
      hold?.message ?? '',
      /^Fence Agents Remediation remedies it \(FenceAgentsRemediation default\/node-3 since \S+Z\), and it is left to that one$/,
    );
    assert.ok(seen.events.some(({ reason, note }) => reason === 'Held' && note.startsWith('LeftToOthers: ')));
    assert.ok(!JSON.stringify(seen.statuses).includes('do-not-tell'));
  });

  for (const [how, end] of [
    ['is gone', { delete: { kind: 'FenceAgentsRemediation', name: 'node-3', namespace: 'default' } }],
    ['is done', { apply: remediation(over) }],
    [
      'has run out of time',
      { apply: remediation({}, { annotations: { 'remediation.medik8s.io/nhc-timed-out': 'now' } }) },
    ],
  ] as const) {
    test(`[ADM-6] is fenced once that one ${how}`, async () => {
      const events = [{ at: '0s', apply: remediation() }, partition[0]!, { at: '60s', ...end }];
      const seen = await observe(fenced('after', { objects: [farDefinition], events, runFor: '3m' }));
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(commands(seen), ['off', 'on']);
      const off = seen.report.timeline.find(({ actor, what }) => actor === 'device' && what === 'asked for off');
      assert.ok((off?.at ?? 0) >= 60_000, `told at ${off?.at}`);
    });
  }

  test('[ADM-6] is fenced where the remediation is of another node', async () => {
    const other = remediation(
      {},
      { name: 'node-3-abcde', annotations: { 'remediation.medik8s.io/node-name': 'node-1' } },
    );
    const events = [{ at: '0s', apply: other }, partition[0]!];
    const seen = await observe(fenced('other', { objects: [farDefinition], events }));
    assert.deepEqual(commands(seen), ['off', 'on']);
  });

  test('[ADM-6, SAF-19] is let go as soon as it is found off, and is not switched on again', async () => {
    const events = [
      { at: '0s', apply: remediation() },
      { at: '1s', powerOff: partition[0]?.partition },
    ];
    const expect = [{ by: '60s', pod: { label: 'app=web', running: true, moved: true } }];
    const seen = await observe(fenced('off', { objects: [farDefinition], events, expect, runFor: '2m' }));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(commands(seen), []);
  });

  test('[ADM-6] is fenced where a person asks for it all the same', async () => {
    const requested = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: 'node-fence-node-3' },
      spec: { node: 'node-3', requested: { by: 'bob', at: '2026-01-01T00:01:00Z' } },
    };
    const events = [{ at: '0s', apply: remediation() }, partition[0]!, { at: '30s', apply: requested }];
    const seen = await observe(fenced('asked', { objects: [farDefinition], events }));
    assert.deepEqual(commands(seen).slice(0, 1), ['off']);
  });

  test('[ADM-6] is fenced where the right to look is missing, which is said', async () => {
    const events = [{ at: '0s', apply: remediation() }, partition[0]!];
    const seen = await observe(fenced('blind', { objects: [farDefinition], events }), { onWorld: refusing(403) });
    assert.deepEqual(commands(seen), ['off', 'on']);
  });

  test('[ADM-6] is not cut before that is known, and is where nobody ever says', async () => {
    const events = [{ at: '0s', apply: remediation() }, partition[0]!];
    const seen = await observe(fenced('silent', { objects: [farDefinition], events }), { onWorld: refusing(500) });
    assert.deepEqual(commands(seen), ['off', 'on']);
    assert.ok(seen.statuses.some(({ status }) => status.hold?.message?.startsWith('whether somebody else')));
    const off = seen.report.timeline.find(({ actor, what }) => actor === 'device' && what === 'asked for off');
    // Silent for 12 s by then, and asked for in vain for 15 s.
    assert.ok((off?.at ?? 0) >= 27_000, `told at ${off?.at}`);
  });

  test('[ADM-6] what nobody has installed is asked for once a minute, and while all are well once in ten', async () => {
    const asked: { path: string; atMs: number }[] = [];
    const wire = (user: string, inner: Transport): Transport => ({
      send: (request) => {
        if (user.startsWith('operator-') && /^\/apis$|medik8s|metal3|cluster\.x-k8s/.test(request.path))
          asked.push({ path: request.path, atMs: now() });
        return inner.send(request);
      },
      close: () => inner.close(),
    });
    let [now, zeroMs] = [(): number => 0, 0];
    const events = [{ ...partition[0]!, at: '60s' }];
    await observe(fenced('none', { policy: { mode: 'Approve' }, events, runFor: '4m' }), {
      wire,
      onWorld: (_, clock) => {
        now = () => clock.monotonic();
      },
      onZero: () => {
        zeroMs = now();
      },
    });
    assert.deepEqual([...new Set(asked.map(({ path }) => path))], ['/apis']);
    const inTrouble = asked.filter(({ atMs }) => atMs > 60_000 + zeroMs);
    assert.ok(inTrouble.length >= 1 && inTrouble.length <= 4, `${inTrouble.length} times`);
    assert.equal(asked.length - inTrouble.length, 1, 'for the status of the policy');
  });
});

describe('a policy whose nodes somebody else is set up to act on', () => {
  const longhorn = definition('Setting', 'longhorn.io');
  const setting = (value: string, name = 'node-down-pod-deletion-policy'): object => ({
    apiVersion: 'longhorn.io/v1alpha1',
    kind: 'Setting',
    metadata: { name, namespace: 'default' },
    value,
  });
  async function risky(objects: object[], refused?: (world: World) => void): Promise<string> {
    const seen = await observe(fenced('set-up', { objects, events: [], runFor: '1m' }), {
      ...(refused && { onWorld: refused }),
    });
    const policy = seen.world.server.peek('fenceline.dev', 'remedypolicies', 'fence') as {
      status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
    };
    const found = policy.status?.conditions?.find(({ type }) => type === 'Risky');
    return `${found?.status} ${found?.reason}: ${found?.message}`;
  }

  test('[ADM-6] says who, and what to do', async () => {
    const deletes = setting('delete-both-statefulset-and-deployment-pod');
    assert.match(await risky([longhorn, deletes]), /^True OthersAct: Longhorn deletes pods of nodes that are down/);
    assert.match(await risky([longhorn, setting('do-nothing')]), /^False NothingRisky/);
    assert.match(await risky([longhorn, setting('true', 'auto-salvage')]), /^False NothingRisky/);
  });

  test('[ADM-6] says what it may not look at', async () => {
    const refused = ({ server }: World): void => {
      server.faults.inject({
        matches: ({ user, path }) => user.startsWith('operator-') && path.includes('longhorn.io'),
        code: 403,
      });
    };
    assert.equal(
      await risky([longhorn, setting('do-nothing')], refused),
      'False NothingRisky: no dangerous value was found; not looked at: settings.longhorn.io: the right to list them is missing',
    );
  });
});

/** The API server does not show them to operators. */
function refusing(code: number): (world: World) => void {
  return ({ server }) => {
    server.faults.inject({
      matches: ({ user, path }) => user.startsWith('operator-') && path.includes('fenceagentsremediations'),
      code,
    });
  };
}
