import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { settle } from '../../test/support/scripted-server.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { OthersElsewhere } from './others-elsewhere.ts';

const group = 'fence-agents-remediation.medik8s.io';
const node = { name: 'node-3', machine: 'capi/m-3' };
const far = (name = 'node-3'): object => ({ metadata: { name, namespace: 'ns' } });

/** An API server that answers when it is told to, or at once. */
function world(installed: readonly string[] = [group]) {
  const clock = manualClock();
  const calls: string[] = [];
  const woken: string[] = [];
  const problems: string[] = [];
  const server = { installed, objects: [] as object[], groups: undefined as KubeError['kind'] | undefined };
  const state = Object.assign(server, {
    fails: undefined as KubeError['kind'] | undefined,
    /** What is read by its name. */
    named: undefined as object | undefined,
    wait: undefined as Promise<void> | undefined,
  });
  const fail = (kind: KubeError['kind']) => ({ ok: false, error: { kind, message: kind, mayHaveHappened: false } });
  const client = {
    groups: async () => {
      calls.push('groups');
      return state.groups === undefined
        ? { ok: true, value: new Map(state.installed.map((one) => [one, 'v1'])) }
        : fail(state.groups);
    },
    list: async ({ plural }: { plural: string }) => {
      calls.push(plural);
      const { objects, fails } = state;
      await state.wait;
      return fails === undefined ? { ok: true, value: { metadata: {}, items: objects } } : fail(fails);
    },
    get: async ({ resource, name }: { resource: { plural: string }; name: string }) => {
      calls.push(`${resource.plural}/${name}`);
      await state.wait;
      if (state.fails !== undefined || state.named === undefined) return fail(state.fails ?? 'notFound');
      return { ok: true, value: state.named };
    },
  };
  const others = new OthersElsewhere({
    client: client as unknown as KubeClient,
    clock,
    onNode: (name) => woken.push(name),
    onProblem: (source) => problems.push(source),
  });
  return { others, clock, calls, woken, problems, server: state };
}

describe('[ADM-6] who else is at work on a node', () => {
  test('is open at first, and whoever asked is told as soon as it is known', async () => {
    const { others, woken, server, calls } = world();
    server.objects = [far()];
    assert.deepEqual(others.of(node), { found: [], openForMs: 0 });
    await settle();
    assert.ok(woken.length > 0);
    assert.equal(others.of(node).found[0]?.by, 'Fence Agents Remediation');
    assert.equal(others.of(node).openForMs, undefined);
    assert.deepEqual(calls, ['groups', 'fenceagentsremediations']);
  });

  test('is asked for anew after two seconds, and only another answer is news', async () => {
    const { others, woken, server, calls, clock } = world();
    others.of(node);
    await settle();
    woken.length = 0;
    others.of(node);
    await settle();
    assert.equal(calls.length, 2);
    clock.advance(2000);
    others.of(node);
    await settle();
    assert.deepEqual([calls.length, woken], [3, []]);
    server.objects = [far('node-4')];
    clock.advance(2000);
    others.of(node);
    await settle();
    assert.deepEqual(woken, []);
    server.objects = [far()];
    clock.advance(2000);
    assert.deepEqual(others.of(node).found, [], 'as far as is known');
    await settle();
    assert.deepEqual(woken, ['node-3']);
  });

  test('is asked once for all who want to know it at a time', async () => {
    const { others, calls } = world();
    for (const name of ['node-1', 'node-2', 'node-3']) others.of({ name });
    await settle();
    assert.deepEqual(calls, ['groups', 'fenceagentsremediations']);
  });

  test('is nobody where nothing is installed, which is looked at once a minute', async () => {
    const { others, calls, clock, server } = world([]);
    others.of(node);
    await settle();
    assert.deepEqual(others.of(node), { found: [] });
    clock.advance(59_999);
    others.of(node);
    await settle();
    assert.deepEqual(calls, ['groups']);
    server.installed = [group];
    clock.advance(1);
    others.of(node);
    await settle();
    assert.deepEqual(calls, ['groups', 'groups', 'fenceagentsremediations']);
  });

  test('is nobody where there is no such kind in its group, and where the right is missing, which is told', async () => {
    for (const [kind, told] of [
      ['notFound', []],
      ['forbidden', [`fenceagentsremediations.${group}`]],
    ] as const) {
      const { others, calls, clock, problems, server } = world();
      server.fails = kind;
      others.of(node);
      await settle();
      assert.deepEqual(others.of(node), { found: [] });
      clock.advance(30_000);
      others.of(node);
      await settle();
      assert.deepEqual([calls.length, problems], [2, told]);
      server.fails = undefined;
      server.objects = [far()];
      clock.advance(30_000);
      others.of(node);
      await settle();
      assert.equal(others.of(node).found.length, 1, 'once it may');
    }
  });

  test('stays open for as long as nobody answers, and what was known is known still', async () => {
    const { others, clock, server, problems } = world();
    server.groups = 'serverError';
    others.of(node);
    await settle();
    clock.advance(3000);
    assert.deepEqual(others.of(node), { found: [], openForMs: 3000 });
    server.groups = undefined;
    server.objects = [far()];
    await settle();
    others.of(node);
    await settle();
    server.fails = 'serverError';
    clock.advance(2000);
    assert.equal(others.of(node).openForMs, undefined);
    await settle();
    clock.advance(4000);
    const { found, openForMs } = others.of(node);
    assert.deepEqual([found.length, openForMs], [1, 4000]);
    await settle();
    clock.advance(5000);
    assert.equal(others.of(node).openForMs, 9000);
    assert.ok(problems.includes('what is installed'));
  });

  test('is read again right before an act, whatever was known', async () => {
    const { others, server } = world();
    others.of(node);
    await settle();
    server.objects = [far()];
    const live = await others.live(node);
    assert.ok(live.ok && live.value.length === 1);
    server.fails = 'timeout';
    const failed = await others.live(node);
    assert.equal(failed.ok ? undefined : failed.error.kind, 'timeout');
    server.fails = 'forbidden';
    const refused = await others.live(node);
    assert.ok(refused.ok && refused.value.length === 0);
  });

  test('an answer that was asked for earlier does not take the place of a later one', async () => {
    const { others, server, clock } = world();
    others.of(node);
    await settle();
    const slow = Promise.withResolvers<void>();
    server.wait = slow.promise;
    clock.advance(2000);
    others.of(node);
    await settle();
    server.wait = undefined;
    server.objects = [far()];
    clock.advance(10);
    assert.ok((await others.live(node)).ok);
    slow.resolve();
    await settle();
    assert.equal(others.of(node).found.length, 1);
  });

  test('one object is asked for by its name, and is nobody where it is not there', async () => {
    const { others, calls } = world(['cluster.x-k8s.io']);
    others.of(node);
    await settle();
    assert.deepEqual(calls, ['groups', 'machines/m-3']);
    assert.deepEqual(others.of(node), { found: [] });
    const without = world(['cluster.x-k8s.io']);
    without.others.of({ name: 'node-3' });
    await settle();
    assert.deepEqual(without.calls, ['groups']);
  });

  test('[SEC-4] is nobody where the Machine that the node names says that it is another node, or is not there', async () => {
    const ownerReferences = [{ apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine', name: 'm-3' }];
    const remediation = { metadata: { name: 'x', namespace: 'capi', ownerReferences } };
    const machineOf = (name?: string): object => ({
      metadata: { name: 'm-3', namespace: 'capi' },
      status: { nodeRef: { name } },
    });
    const found = async (named: object | undefined, fails?: KubeError['kind']): Promise<number> => {
      const { others, server } = world([group, 'cluster.x-k8s.io']);
      server.objects = [remediation];
      others.of(node);
      await settle();
      Object.assign(server, { named, fails });
      const live = await others.live(node);
      assert.ok(live.ok);
      assert.deepEqual(others.of(node).found, live.value);
      return live.value.length;
    };
    assert.deepEqual(
      [
        await found(machineOf('node-3')),
        await found(machineOf('node-4')),
        await found(machineOf()),
        await found(undefined),
      ],
      [1, 0, 0, 0],
    );
  });

  test('what was read of one node alone is not known of its next trouble, while another one is in trouble', async () => {
    const { others, clock, server } = world(['cluster.x-k8s.io']);
    const isOpen = (): boolean => others.of(node).openForMs !== undefined;
    others.of({ name: 'node-4' });
    await settle();
    assert.ok(isOpen());
    await settle();
    assert.ok(!isOpen());
    others.forget('node-3');
    clock.advance(3_600_000);
    assert.ok(isOpen(), 'it was read an hour ago');
    const slow = Promise.withResolvers<void>();
    server.wait = slow.promise;
    await settle();
    clock.advance(2000);
    others.of(node);
    await settle();
    others.forget('node-3');
    slow.resolve();
    await settle();
    clock.advance(3_600_000);
    assert.ok(isOpen(), 'what was answered since was asked for before');
  });

  test('what was known of one trouble is not known of the next', async () => {
    const { others, server, woken } = world();
    others.of(node);
    others.of({ name: 'node-4' });
    await settle();
    others.forget('node-4');
    assert.equal(others.of(node).openForMs, undefined);
    others.forget('node-3');
    woken.length = 0;
    server.objects = [far()];
    assert.equal(others.of(node).openForMs, 0);
    await settle();
    assert.deepEqual(woken, ['node-3']);
  });
});
