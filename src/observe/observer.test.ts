import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { begin, lease, node } from '../../test/support/begun-observer.ts';
import { response, settle } from '../../test/support/scripted-server.ts';
import type { KubeObject } from '../kube/client.ts';
import { TransportError } from '../kube/transport.ts';
import { projectNode } from './project.ts';

describe('observer', () => {
  test('[STM-2] the silence of a Lease counts from when the API server is back; that which was found before goes on', async () => {
    const { clock, observer, watches, server, end } = await begin();
    await watches.leases.event('ADDED', lease('b', '11', 'two'));
    const hearable = (name: string): number | undefined => observer.view(name).lease?.hearableForMs;
    assert.equal(hearable('a'), undefined, 'it was never away');
    const confirming = observer.confirmLease('b');
    (await server.next('read')).answer(response(JSON.stringify(lease('b', '11', 'two'))));
    await confirming;
    clock.advance(8000);
    assert.deepEqual([hearable('a'), hearable('b')], [0, undefined], 'nothing was answered');
    await watches.leases.event('ADDED', lease('c', '12', 'three'));
    await watches.nodes.event('ADDED', node('c', '13'));
    clock.advance(3000);
    assert.deepEqual([hearable('a'), hearable('b'), hearable('c')], [3000, undefined, undefined]);
    assert.equal(observer.view('a').lease?.unchangedForMs, 11_000);
    const found = observer.confirmLease('a');
    (await server.next('read')).answer(response(JSON.stringify(lease('a', '6', 'one'))));
    await found;
    clock.advance(2000);
    assert.deepEqual([hearable('a'), hearable('b')], [5000, undefined], 'that it is silent says nothing of before');
    await end();
  });

  test('[SAF-7] a renewal that is found late was made as long after the one before as its kubelet says', async () => {
    const { clock, observer, watches, server, end } = await begin();
    const at = (seconds: number): string => new Date(Date.UTC(2020, 0, 1) + seconds * 1000).toISOString();
    let version = 20;
    const seen = async (seconds: number): Promise<number | undefined> => {
      version += 1;
      await watches.leases.event('MODIFIED', lease('b', `${version}`, at(seconds)));
      return observer.renewedForMs('b');
    };
    await watches.leases.event('ADDED', lease('b', '20', at(0)));
    assert.equal(observer.renewedForMs('b'), undefined, 'nobody has seen it renewed');
    assert.equal(observer.renewedForMs('nobody'), undefined);
    clock.advance(3000);
    assert.equal(await seen(10), 0, 'no later than it is seen');
    clock.advance(12_000);
    const found = observer.confirmLease('b');
    (await server.next('read')).answer(response(JSON.stringify(lease('b', '22', at(20)))));
    await found;
    assert.equal(observer.renewedForMs('b'), 1990);
    assert.equal(observer.view('b').lease?.unchangedForMs, 0, 'its silence counts from when it was seen');
    clock.advance(9000);
    version = 22;
    assert.equal(await seen(30), 980, 'and so on, by its own clock');
    clock.advance(10_000);
    assert.equal(await seen(25), 0, 'its clock was set back');
    await end();
  });

  test('[SAF-1] a renewal that is seen late was made then only where its kubelet says so, and our view could not have shown it', async () => {
    const { clock, observer, watches, server, end } = await begin();
    const at = (seconds: number): string => new Date(Date.UTC(2020, 0, 1) + seconds * 1000).toISOString();
    assert.equal(observer.provenForMs('b'), undefined, 'nobody has seen it renewed');
    await watches.leases.event('ADDED', lease('b', '20', at(0)));
    clock.advance(10_000);
    await watches.leases.event('MODIFIED', lease('b', '21', at(10)));
    assert.equal(observer.provenForMs('b'), 0);
    clock.advance(25_000);
    await watches.leases.event('MODIFIED', lease('b', '22', at(20)));
    assert.equal(observer.renewedForMs('b'), 14_990);
    assert.equal(observer.provenForMs('b'), 14_990, 'nothing was heard of since before');
    for (let probes = 0; probes < 2; probes += 1) {
      (await server.next('probe', '/leases')).answer(response('{"metadata":{"resourceVersion":"22"},"items":[]}'));
      await settle();
      clock.advance(5000);
    }
    await watches.leases.event('MODIFIED', lease('b', '23', at(21)));
    assert.equal(observer.renewedForMs('b'), 23_980, 'its clock may have been set back');
    assert.equal(observer.provenForMs('b'), 5000, 'what happened until then was in view');
    await end();
  });

  test('[FEN-12] who has an address is known as it is, when a node gets another one, comes and goes', async () => {
    const { observer, watches, end } = await begin();
    const at = (name: string, version: string, ...addresses: string[]): object => {
      const one = node(name, version) as { status?: object };
      return { ...one, status: { ...one.status, addresses: addresses.map((address) => ({ address })) } };
    };
    assert.deepEqual(observer.nodesAt('10.0.0.1'), []);
    await watches.nodes.event('ADDED', at('b', '11', '10.0.0.1'));
    assert.deepEqual(observer.nodesAt('10.0.0.1'), ['b']);
    await watches.nodes.event('MODIFIED', at('b', '12', '10.0.0.2', 'b.example'));
    assert.deepEqual([observer.nodesAt('10.0.0.1'), observer.nodesAt('10.0.0.2')], [[], ['b']]);
    await watches.nodes.event('MODIFIED', at('a', '13', '10.0.0.2'));
    assert.deepEqual([...observer.nodesAt('10.0.0.2')].toSorted(), ['a', 'b']);
    await watches.nodes.event('DELETED', at('b', '14', '10.0.0.2'));
    assert.deepEqual(observer.nodesAt('10.0.0.2'), ['a']);
    await end();
  });

  test('[SAF-14] a view is as silent as the worse of its two watches', async () => {
    const { clock, observer, watches, end } = await begin();
    const silent = (): number => observer.view('a').silentMs;
    clock.advance(3000);
    await watches.nodes.event('ADDED', node('b', '11'));
    assert.equal(silent(), 3000, 'the Leases have said nothing');
    await watches.leases.event('ADDED', lease('b', '12', 'two'));
    assert.equal(silent(), 0);
    clock.advance(2000);
    await watches.leases.event('ADDED', lease('c', '13', 'two'));
    assert.equal(silent(), 2000, 'nor have the Nodes');
    await end();
  });

  test('[SAF-14] a view is as old as the older of its two watches', async () => {
    const { clock, observer, server, end } = await begin();
    const asked = async (about: string): Promise<void> => {
      (await server.next('probe', about)).answer(response('{"metadata":{"resourceVersion":"10"},"items":[]}'));
      await settle();
    };
    for (const [first, second] of [
      ['/nodes', '/leases'],
      ['/leases', '/nodes'],
    ] as const) {
      clock.advance(5000);
      await asked(first);
      assert.equal(observer.view('a').ageMs, 5000, second);
      await asked(second);
      assert.equal(observer.view('a').ageMs, 0);
    }
    await end();
  });

  test('[STM-2] a Lease could be heard of from when both watches are back', async () => {
    for (const first of ['nodes', 'leases'] as const) {
      const { clock, observer, watches, end } = await begin();
      const hears = (): number | undefined => observer.view('a').lease?.hearableForMs;
      const back = {
        nodes: () => watches.nodes.event('ADDED', node('c', '13')),
        leases: () => watches.leases.event('ADDED', lease('c', '13', 'three')),
      };
      clock.advance(8000);
      await back[first]();
      clock.advance(1000);
      assert.equal(hears(), 0, `only ${first} are`);
      await back[first === 'nodes' ? 'leases' : 'nodes']();
      clock.advance(1000);
      assert.equal(hears(), 1000);
      await end();
    }
  });

  test('[SAF-3, SAF-14] when a kubelet has last written the status of its node is known from when that was seen', async () => {
    const { clock, observer, watches, end } = await begin();
    const reported = (): number | undefined => observer.view('a').lease?.reportedForMs;
    assert.equal(reported(), undefined, 'the first sight says nothing of when');
    await watches.nodes.event('MODIFIED', node('a', '11', 'then'));
    assert.equal(reported(), undefined, 'somebody else has written to it');
    await watches.nodes.event('MODIFIED', node('a', '12', 'later'));
    clock.advance(2000);
    assert.equal(reported(), 2000);
    await watches.nodes.event('DELETED', node('a', '13', 'later'));
    await watches.nodes.event('ADDED', node('a', '14', 'even later'));
    assert.equal(reported(), undefined, 'that was another Node');
    await end();
  });

  test('[SAF-8, STM-2] a renewal after a silence is told from others until the next silence', async () => {
    const { clock, observer, watches, end } = await begin();
    const seen = async (version: string, afterMs: number): Promise<number | undefined> => {
      clock.advance(afterMs);
      await watches.leases.event('MODIFIED', lease('a', version, version));
      return observer.leaseSign('a')?.backForMs;
    };
    assert.equal(await seen('11', 11_999), undefined, 'it was never silent');
    assert.equal(await seen('12', 12_000), 0);
    assert.equal(await seen('13', 500), 500, 'and goes on');
    assert.equal(await seen('14', 60_000), 0);
    await end();
  });

  test('how long a Lease is unchanged counts on our own clock, from the last renewal that was seen', async () => {
    const { clock, observer, watches, touched, end } = await begin();
    clock.advance(3000);
    assert.equal(observer.view('a').lease?.unchangedForMs, 3000);
    await watches.leases.event('MODIFIED', lease('a', '11', 'a time of another clock'));
    assert.equal(observer.view('a').lease?.unchangedForMs, 0);
    clock.advance(1000);
    await watches.leases.event('MODIFIED', lease('a', '12', 'a time of another clock'));
    assert.equal(observer.view('a').lease?.unchangedForMs, 1000, 'written to, but not renewed');
    assert.deepEqual(touched.slice(0, 2).toSorted(), ['lease a', 'node a']);
    await end();
  });

  test('[EVD-2] only a renewal of a Lease that lasts as long as before is one: what else happens to it moves the time to look', async () => {
    const { watches, touched, end } = await begin();
    const told = async (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): Promise<string[]> => {
      touched.length = 0;
      await watches.leases.event(type, object);
      return [...touched];
    };
    const lasting = (seconds: number): object => ({ leaseDurationSeconds: seconds });
    assert.deepEqual(await told('MODIFIED', lease('a', '11', 'two')), ['renewal a']);
    assert.deepEqual(await told('MODIFIED', lease('a', '12', 'three', lasting(80))), ['lease a']);
    assert.deepEqual(await told('MODIFIED', lease('a', '13', 'four', lasting(80))), ['renewal a']);
    assert.deepEqual(await told('MODIFIED', lease('a', '14', 'five', lasting(40))), ['lease a']);
    assert.deepEqual(await told('DELETED', lease('a', '15', 'five', lasting(40))), ['lease a']);
    assert.deepEqual(await told('ADDED', lease('a', '16', 'six', lasting(40))), ['lease a'], 'made again');
    assert.deepEqual(
      await told('ADDED', lease('b', '17', 'one')),
      ['lease b'],
      'a node is Ready before it has a Lease',
    );
    await end();
  });

  test('a live read that finds the same Lease confirms that it is stale; a renewal takes the confirmation back', async () => {
    const { server, observer, watches, end } = await begin();
    const confirming = observer.confirmLease('a');
    (await server.next('read')).answer(response(JSON.stringify(lease('a', '6', 'one'))));
    assert.equal(await confirming, true);
    assert.equal(observer.view('a').lease?.confirmed, true);
    await watches.leases.event('MODIFIED', lease('a', '11', 'two'));
    assert.equal(observer.view('a').lease?.confirmed, false);
    await end();
  });

  test('S16: a live read that the watch has overtaken says nothing: what is known does not go back', async () => {
    const { server, clock, observer, watches, end } = await begin();
    clock.advance(20_000);
    const confirming = observer.confirmLease('a');
    const { answer } = await server.next('read');
    await watches.leases.event('MODIFIED', lease('a', '11', 'two'));
    clock.advance(1000);
    answer(response(JSON.stringify(lease('a', '6', 'one'))));
    assert.equal(await confirming, true);
    const { renewTime, unchangedForMs, confirmed } = observer.view('a').lease ?? assert.fail();
    assert.deepEqual([renewTime, unchangedForMs, confirmed], ['two', 1000, false]);
    await end();
  });

  test('a live read that finds a newer Lease shows that the watch lags: the node is alive', async () => {
    const { server, clock, observer, end } = await begin();
    clock.advance(20_000);
    const confirming = observer.confirmLease('a');
    (await server.next('read')).answer(response(JSON.stringify(lease('a', '99', 'two'))));
    await confirming;
    assert.deepEqual(observer.view('a').lease, { renewTime: 'two', unchangedForMs: 0, confirmed: false });
    await end();
  });

  test('a live read that finds a Lease somebody wrote to, and nobody renewed, is no sign of life', async () => {
    const { server, clock, observer, end } = await begin();
    clock.advance(20_000);
    const confirming = observer.confirmLease('a');
    (await server.next('read')).answer(response(JSON.stringify(lease('a', '99', 'one'))));
    await confirming;
    const { unchangedForMs, confirmed } = observer.view('a').lease ?? {};
    assert.deepEqual([unchangedForMs, confirmed], [20_000, true]);
    await end();
  });

  test('[SAF-14] how long a Lease lasts is what it says itself, also where that is changed', async () => {
    const { observer, watches, end } = await begin();
    assert.equal(observer.view('a').lease?.durationMs, undefined);
    await watches.leases.event('MODIFIED', lease('a', '11', 'two', { leaseDurationSeconds: 80 }));
    assert.equal(observer.view('a').lease?.durationMs, 80_000);
    assert.equal(observer.leaseSign('a')?.durationMs, 80_000);
    await end();
  });

  test('[FEN-16] a boot ID that another node has as well is shared; one that nobody reports is not', async () => {
    const { observer, watches, end } = await begin();
    const booted = (name: string, version: string, bootID = 'one'): KubeObject =>
      ({ ...node(name, version), status: { nodeInfo: { bootID } } }) as KubeObject;
    await watches.nodes.event('ADDED', node('c', '11'));
    assert.equal(observer.sharesBoot({ name: 'a', bootId: '' }), false);
    await watches.nodes.event('MODIFIED', booted('a', '12'));
    assert.equal(observer.sharesBoot({ name: 'a', bootId: 'one' }), false);
    await watches.nodes.event('ADDED', booted('b', '13'));
    assert.equal(observer.sharesBoot({ name: 'a', bootId: 'one' }), true);
    assert.equal(observer.sharesBoot({ name: 'a', bootId: 'two' }), false);
    await watches.nodes.event('MODIFIED', booted('b', '14', 'two'));
    assert.equal(observer.sharesBoot({ name: 'a', bootId: 'one' }), false, 'the other one has booted since');
    await end();
  });

  test('[SEC-2] another node that says that it is the same machine, for as long as it does', async () => {
    const { observer, watches, end } = await begin();
    const of = (name: string, version: string, providerID: string): KubeObject =>
      ({ ...node(name, version), spec: { providerID } }) as KubeObject;
    await watches.nodes.event('MODIFIED', of('a', '11', 'cloud://one'));
    assert.equal(observer.rival('a', 'cloud://one'), undefined);
    await watches.nodes.event('ADDED', of('b', '12', 'cloud://one'));
    assert.equal(observer.rival('a', 'cloud://one'), 'b');
    await watches.nodes.event('MODIFIED', of('b', '13', 'cloud://two'));
    assert.equal(observer.rival('a', 'cloud://one'), undefined);
    await watches.nodes.event('ADDED', of('c', '14', 'cloud://one'));
    assert.equal(observer.rival('a', 'cloud://one'), 'c');
    await watches.nodes.event('DELETED', of('c', '15', 'cloud://one'));
    assert.equal(observer.rival('a', 'cloud://one'), undefined);
    await end();
  });

  test('a live read that fails confirms nothing, and is reported', async () => {
    const { server, observer, problems, end } = await begin();
    const confirming = observer.confirmLease('a');
    for (let attempt = 0; attempt < 2; attempt += 1) {
      (await server.next('read')).fail(new TransportError('broken', 'reset'));
      await settle();
    }
    assert.equal(await confirming, false);
    assert.equal(observer.view('a').lease?.confirmed, false);
    assert.deepEqual(problems, ['leases unreachable']);
    await end();
  });

  test('[EVD-2] that a Lease is gone is silence since its last renewal, until there is one again; a node that is gone is no node', async () => {
    const { server, clock, observer, watches, touched, end } = await begin();
    clock.advance(8000);
    const confirming = observer.confirmLease('a');
    (await server.next('read')).answer(response('{}', 404));
    assert.equal(await confirming, true);
    clock.advance(4000);
    const gone = { renewTime: 'one', unchangedForMs: 12_000, confirmed: true, isGone: true };
    const { hearableForMs: _, ...found } = observer.view('a').lease ?? assert.fail();
    assert.deepEqual(found, gone);
    await watches.leases.event('DELETED', lease('a', '11', 'one'));
    assert.equal(observer.leaseSign('a')?.isGone, true);
    assert.deepEqual(touched.splice(0).at(-1), 'lease a');
    await watches.leases.event('ADDED', lease('a', '12', 'one'));
    const restored = observer.leaseSign('a');
    assert.deepEqual([restored?.isGone, restored?.unchangedForMs], [undefined, 12_000], 'no kubelet has renewed it');
    await watches.leases.event('DELETED', lease('a', '13', 'one'));
    await watches.leases.event('ADDED', lease('a', '14', 'two'));
    const made = observer.leaseSign('a');
    assert.deepEqual([made?.isGone, made?.unchangedForMs, made?.renewed], [undefined, 0, false]);
    assert.deepEqual(touched.splice(0), ['lease a', 'lease a', 'lease a'], 'a timer may have to be set anew');
    await watches.leases.event('DELETED', lease('a', '15', 'two'));
    await watches.nodes.event('DELETED', node('a', '20'));
    assert.deepEqual([observer.view('a').node, observer.view('a').lease], [undefined, undefined]);
    await watches.leases.event('ADDED', lease('b', '21', 'one'));
    await watches.leases.event('DELETED', lease('b', '22', 'one'));
    assert.equal(observer.leaseSign('b'), undefined, 'where there is no node, nobody asks');
    await end();
  });

  test('[EVD-2, SAF-3] a kubelet that goes on to report without a Lease is heard of by its Node', async () => {
    const { observer, watches, end } = await begin();
    const reporting = (version: string, lastHeartbeatTime: string, status = 'True'): KubeObject =>
      ({ ...node('a', version), status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime }] } }) as KubeObject;
    await watches.nodes.event('MODIFIED', reporting('11', 'first'));
    await watches.leases.event('DELETED', lease('a', '12', 'one'));
    await watches.nodes.event('MODIFIED', reporting('13', 'first', 'Unknown'));
    assert.equal(observer.leaseSign('a')?.isGone, true, 'what Kubernetes writes is no sign of life');
    await watches.nodes.event('MODIFIED', reporting('14', 'second'));
    assert.equal(observer.leaseSign('a'), undefined);
    await end();
  });

  test('[SAF-17] who has lost its Node, or never had one, is known by when it was last heard of', async () => {
    const { clock, observer, watches, end } = await begin();
    assert.deepEqual(observer.leftWithin(60_000), []);
    clock.advance(10_000);
    await watches.nodes.event('DELETED', node('a', '20'));
    assert.deepEqual(observer.leftWithin(60_000), ['a']);
    clock.advance(30_000);
    assert.deepEqual([observer.leftWithin(39_000), observer.leftWithin(40_000)], [[], ['a']], 'since its last renewal');
    await watches.leases.event('MODIFIED', lease('a', '21', 'one', { holderIdentity: 'x' }));
    assert.deepEqual(observer.leftWithin(39_000), [], 'that was no renewal');
    await watches.leases.event('MODIFIED', lease('a', '22', 'two'));
    assert.deepEqual(observer.leftWithin(0), ['a'], 'its machine lives');
    await watches.nodes.event('ADDED', node('a', '23'));
    assert.deepEqual(observer.leftWithin(60_000), []);
    await watches.leases.event('MODIFIED', lease('a', '24', 'three'));
    assert.deepEqual(observer.leftWithin(60_000), [], 'it has a Node');
    await watches.leases.event('ADDED', lease('b', '25', 'one'));
    assert.deepEqual(observer.leftWithin(60_000), [], 'nobody knows when that was');
    await watches.leases.event('MODIFIED', lease('b', '26', 'two'));
    assert.deepEqual(observer.leftWithin(60_000), ['b']);
    for (let index = 0; index < 1001; index += 1) {
      await watches.leases.event('ADDED', lease(`c${index}`, `${3000 + 2 * index}`, 'one'));
      await watches.leases.event('MODIFIED', lease(`c${index}`, `${3001 + 2 * index}`, 'two'));
    }
    assert.deepEqual([observer.leftWithin(60_000).length, observer.leftWithin(60_000)[0]], [1000, 'c1']);
    await end();
  });

  test('half-written objects are projected without a fuss, and what is neither True nor False is Unknown', () => {
    const bare = projectNode({ metadata: { name: 'a' } });
    assert.deepEqual([bare.bootId, bare.zone, bare.conditions], ['', '', []]);
    const odd = { metadata: { name: 'a' }, status: { conditions: [{ type: 'Ready', status: 'Maybe' }] } };
    assert.equal(projectNode(odd).conditions[0]?.status, 'Unknown');
  });
});
