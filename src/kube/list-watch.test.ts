/** What no real server can be made to do at will: lie, lag, repeat itself, break off in the middle of a page. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { response, ScriptedServer, settle } from '../../test/support/scripted-server.ts';
import type { KubeObject } from './client.ts';
import { KubeClient } from './client.ts';
import type { ListWatchOptions } from './list-watch.ts';
import { ListWatch } from './list-watch.ts';
import { configMaps } from './resources.ts';
import { TransportError } from './transport.ts';

function object(name: string, resourceVersion: string, uid = `uid-${name}`): KubeObject {
  return { metadata: { name, namespace: 'ns', uid, resourceVersion } };
}

/** Nothing but the end of a watch makes it do something. */
const quiet = { probeEveryMs: 2 ** 31 - 1, reopenAfterMs: 2 ** 31 - 1 };

function begin(options: Partial<Pick<ListWatchOptions<string>, 'onChange' | 'onSync' | 'project' | 'timings'>> = {}) {
  const server = new ScriptedServer();
  const clock = manualClock();
  const client = new KubeClient({
    transport: { send: server.send, close: () => {} },
    clock,
    userAgent: 't',
    fieldManager: 't',
  });
  const log: string[] = [];
  const problems: string[] = [];
  const subject = new ListWatch<string>({
    client,
    clock,
    random: () => 1,
    resource: configMaps,
    ...options,
    project: options.project ?? ((one) => one.metadata.resourceVersion ?? ''),
    onChange:
      options.onChange ??
      ((change) => log.push(`${change.type} ${change.entry.key} ${change.entry.value} ${change.entry.uid}`)),
    onProblem: (problem) => problems.push(`${problem.kind}: ${problem.message}`),
  });
  const stop = new AbortController();
  const running = subject.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  /** Lets back-off and other timers pass until the list-watch asks for something again. */
  const pass = async (ms: number): Promise<void> => {
    await settle();
    clock.advance(ms);
    await settle();
  };
  return { server, clock, subject, log, problems, running, end, pass };
}

describe('list-watch', () => {
  test('[STM-2] a server is away when it has failed and said nothing for two seconds, and has answered since it is back', async () => {
    const { server, clock, subject, end, pass } = begin({ timings: { probeEveryMs: 5000 } });
    await server.list('10', [object('a', '5')]);
    const watch = await server.watch();
    assert.equal(subject.answeringMs, Infinity, 'it never was');
    await pass(3000);
    assert.equal(subject.answeringMs, Infinity, 'where nothing happens nothing is said');
    await watch.end(new TransportError('broken', 'reset'));
    assert.equal(subject.answeringMs, 0, 'a connection was lost, and nobody has answered since');
    await pass(100);
    await (await server.watch()).event('MODIFIED', object('a', '11'));
    clock.advance(1000);
    assert.equal(subject.answeringMs, 1000);
    await end();
  });

  test('pages are put together, and the watch begins where the list ended', async () => {
    const { server, log, end } = begin();
    await server.list('10', [object('a', '3')], 'token 1');
    const second = await server.list('10', [object('b', '4')]);
    assert.match(second.path, /continue=token\+1/);
    const watch = await server.watch();
    assert.match(watch.request.path, /resourceVersion=10&/);
    assert.match(watch.request.path, /allowWatchBookmarks=true/);
    await watch.event('MODIFIED', object('a', '11'));
    assert.deepEqual(log, ['added ns/a 3 uid-a', 'added ns/b 4 uid-b', 'updated ns/a 11 uid-a']);
    await end();
  });

  test('a continue token that expired, and pages of different versions, begin the list anew and show nothing of the old one', async () => {
    const { server, log, problems, end, pass } = begin();
    await server.list('10', [object('a', '3')], 'more');
    (await server.next('list')).answer(response(JSON.stringify({ message: 'expired', reason: 'Expired' }), 410));
    await pass(200);
    const fresh = await server.list('11', [object('b', '4')], 'more');
    assert.doesNotMatch(fresh.path, /continue/);
    await server.list('12', []);
    await pass(400);
    await server.list('20', [object('c', '5')]);
    await server.watch();
    assert.deepEqual(log, ['added ns/c 5 uid-c']);
    assert.match(problems.join('\n'), /gone.*\n.*different versions/);
    await end();
  });

  test('the view never goes back in time: an older list is refused, old and repeated events are dropped', async () => {
    const { server, log, subject, problems, end, pass } = begin();
    await server.list('100', [object('a', '90')]);
    const watch = await server.watch();
    await watch.event('MODIFIED', object('a', '110'));
    await watch.event('MODIFIED', object('a', '110'));
    await watch.event('MODIFIED', object('a', '105'));
    await watch.event('DELETED', object('a', '99'));
    await watch.event('ERROR', { code: 410, reason: 'Expired', message: 'too old' });
    await pass(200);
    await server.list('108', []);
    await pass(400);
    await server.list('111', [object('a', '110')]);
    assert.deepEqual(log, ['added ns/a 90 uid-a', 'updated ns/a 110 uid-a']);
    assert.equal(subject.statistics.duplicates, 3);
    assert.match(problems.join('\n'), /server is at version 108, the view at 110/);
    await end();
  });

  test('versions are compared as numbers', async () => {
    const { server, log, end } = begin();
    await server.list('99', [object('a', '9')]);
    const watch = await server.watch();
    await watch.event('MODIFIED', object('a', '100'));
    assert.equal(log.at(-1), 'updated ns/a 100 uid-a');
    await end();
  });

  test('a recreated object is a delete and an add, in a watch and in a list', async () => {
    const { server, log, end, pass } = begin();
    await server.list('10', [object('a', '5', 'first')]);
    const watch = await server.watch();
    await watch.event('MODIFIED', object('a', '11', 'second'));
    await watch.event('ERROR', { code: 410, message: 'too old' });
    await pass(200);
    await server.list('20', [object('a', '15', 'third')]);
    await server.watch();
    assert.deepEqual(log, [
      'added ns/a 5 first',
      'deleted ns/a 5 first',
      'added ns/a 11 second',
      'deleted ns/a 11 second',
      'added ns/a 15 third',
    ]);
    await end();
  });

  test('a bookmark is where the next watch begins', async () => {
    const { server, end, pass } = begin();
    await server.list('10', []);
    const watch = await server.watch();
    await watch.event('BOOKMARK', { metadata: { resourceVersion: '500' } });
    await watch.end();
    await pass(0);
    assert.match((await server.watch()).request.path, /resourceVersion=500&/);
    await end();
  });

  test('it never stops for good: refused, broken, cut short, not JSON, without versions, of unknown type', async () => {
    const { server, log, problems, end, pass } = begin();
    (await server.next('list')).fail(new TransportError('notSent', 'connection refused'));
    await pass(200);
    (await server.next('list')).answer(response('{"metadata":{"resourceVersion":"10"},"items":[{"metadata"'));
    await pass(400);
    (await server.next('list')).answer(response('{"metadata":{},"items":[]}'));
    await pass(800);
    (await server.next('list')).answer(response('forbidden', 403));
    await pass(1600);
    await server.list('10', []);
    await (await server.watch()).raw('{"type":"ADDED"\n');
    await pass(3200);
    await (await server.watch()).event('SURPRISE', object('a', '11'));
    await pass(6400);
    await (await server.watch()).event('ADDED', { metadata: { name: 'a' } });
    await pass(12_800);
    await (await server.watch()).end(new TransportError('broken', 'reset'));
    await pass(25_600);
    await (await server.watch()).event('ADDED', object('b', '12'));
    assert.deepEqual(log, ['added ns/b 12 uid-b']);
    assert.equal(problems.length, 8, problems.join('\n'));
    await end();
  });

  test('Retry-After is respected', async () => {
    const { server, end, pass, clock } = begin();
    (await server.next('list')).answer(response('{}', 429, { 'retry-after': '7' }));
    await pass(6900);
    await assert.rejects(server.next('list'), /no list was asked for/);
    clock.advance(200);
    await server.list('1', []);
    await end();
  });

  test('a server that ends every watch at once is not asked without pause', async () => {
    const { server, end, pass } = begin();
    await server.list('10', []);
    await (await server.watch()).end();
    await assert.rejects(server.next('watch'), /no watch was asked for/);
    await pass(100);
    await server.watch();
    await end();
  });

  test('what a callback or a projection throws is not swallowed: it ends the run', async () => {
    for (const options of [
      {
        onChange: () => {
          throw new SyntaxError('mine');
        },
      },
      {
        project: () => {
          throw new SyntaxError('mine');
        },
      },
    ]) {
      const inList = begin(options);
      const listEnds = assert.rejects(inList.running, /mine/);
      await inList.server.list('10', [object('a', '3')]);
      await listEnds;
      const inWatch = begin(options);
      const watchEnds = assert.rejects(inWatch.running, /mine/);
      await inWatch.server.list('10', []);
      await (await inWatch.server.watch()).event('ADDED', object('a', '11'));
      await watchEnds;
    }
  });

  test('age: counted from what the server was asked, not from what arrives', async () => {
    const { server, clock, subject, end, pass } = begin();
    assert.equal(subject.ageMs, Infinity);
    const first = await server.next('list');
    clock.advance(300);
    first.answer(response('{"metadata":{"resourceVersion":"10"},"items":[]}'));
    const watch = await server.watch();
    assert.equal(subject.ageMs, 300, 'a list is as old as its question');

    await pass(4700);
    await server.probe('20');
    assert.equal(subject.ageMs, 5000, 'the server is at 20, the watch still at 10');
    clock.advance(1000);
    await watch.event('ADDED', object('a', '15'));
    assert.equal(subject.ageMs, 6000, 'an event that arrives now may be old');
    await watch.event('ADDED', object('b', '20'));
    assert.equal(subject.ageMs, 1000, 'now the watch has passed what the server was at a second ago');
    await end();
  });

  test('age: a bookmark settles every question that it has passed, so that a quiet view is never older than it must be', async () => {
    const { server, subject, end, pass } = begin();
    await server.list('10', []);
    const watch = await server.watch();
    for (let turn = 1; turn <= 12; turn += 1) {
      await pass(5000);
      await server.probe(String(10 + turn));
    }
    assert.equal(subject.ageMs, 60_000);
    await watch.event('BOOKMARK', { metadata: { resourceVersion: '21' } });
    assert.equal(subject.ageMs, 5000, 'the server was at 21 five seconds ago');
    await end();
  });

  test('age: a probe that fails makes nothing younger', async () => {
    const { server, subject, end, pass } = begin();
    await server.list('10', []);
    const watch = await server.watch();
    await pass(5000);
    (await server.next('probe')).fail(new TransportError('broken', 'reset'));
    await watch.event('ADDED', object('a', '30'));
    assert.equal(subject.ageMs, 5000);
    await end();
  });

  test('a watch that falls behind is reopened where it stood, a quiet one that keeps up is not', async () => {
    const { server, subject, problems, end, pass } = begin({ timings: { trustPageMs: Infinity } });
    await server.list('10', []);
    const watch = await server.watch();
    await pass(5000);
    await server.probe('50');
    await pass(55_000);
    await watch.event('BOOKMARK', { metadata: { resourceVersion: '60' } });
    await pass(5000);
    await server.probe('70');
    await pass(89_000);
    assert.equal(subject.statistics.watches, 1);
    await pass(1000);
    await pass(200);
    assert.match((await server.watch()).request.path, /resourceVersion=60&/);
    assert.match(problems.join('\n'), /behind for \d+ s/);
    await end();
  });

  test('what a watch has lost on its way is found by another list, of which nothing else is told', async () => {
    let syncs = 0;
    const { server, log, end, pass } = begin({ onSync: () => (syncs += 1), timings: quiet });
    await server.list('10', [object('a', '3'), object('b', '4')]);
    const watch = await server.watch();
    assert.match(watch.request.path, /timeoutSeconds=120/);
    // Of the deletion of b at version 11 nothing has come.
    await watch.event('MODIFIED', object('a', '12'));
    await pass(120_000);
    await watch.end();
    await server.list('13', [object('a', '12')]);
    assert.match((await server.watch()).request.path, /resourceVersion=13&/);
    assert.deepEqual(log.slice(2), ['updated ns/a 12 uid-a', 'deleted ns/b 4 uid-b']);
    assert.equal(syncs, 1);
    await end();
  });

  test('who has seen that something is otherwise has it listed anew, but not what was listed a moment ago', async () => {
    const { server, log, subject, end, pass } = begin({ timings: quiet });
    await server.list('10', [object('a', '3')]);
    await server.watch();
    subject.doubt();
    await pass(1999);
    subject.doubt();
    assert.equal(subject.statistics.lists, 1, 'who doubts it may have looked before');
    await pass(1);
    subject.doubt();
    subject.doubt();
    await pass(200);
    await server.list('12', [object('a', '11')]);
    assert.match((await server.watch()).request.path, /resourceVersion=12&/);
    assert.deepEqual(log.slice(1), ['updated ns/a 11 uid-a']);
    assert.equal(subject.statistics.lists, 2);
    await end();
  });

  test('a list that only confirms and fails is tried again later, and the watch goes on where it stood', async () => {
    const { server, problems, end, pass } = begin({ timings: quiet });
    await server.list('10', []);
    const watch = await server.watch();
    await pass(120_000);
    await watch.end();
    (await server.next('list')).fail(new TransportError('broken', 'reset'));
    await pass(1000);
    assert.match((await server.watch()).request.path, /resourceVersion=10&/);
    assert.match(problems.join('\n'), /reset/);
    await end();
  });

  test('a large view is trusted for as many times longer as it has pages', async () => {
    const { server, end } = begin({ timings: { pageSize: 2 } });
    await server.list('10', [object('a', '3'), object('b', '4')], 'more');
    await server.list('10', [object('c', '5')]);
    assert.match((await server.watch()).request.path, /timeoutSeconds=240/);
    await end();
  });

  test('a watch that is still behind after that gives way to a list: where nothing happens it would know no more for a minute', async () => {
    for (const catchesUp of [true, false]) {
      const { server, subject, end, pass } = begin();
      await server.list('10', []);
      await server.watch();
      await pass(5000);
      await server.probe('50');
      await pass(85_000);
      await pass(200);
      const second = await server.watch();
      await server.probe('50');
      await pass(5000);
      await server.probe('51');
      if (catchesUp) await second.event('ADDED', object('a', '51'));
      await pass(5000);
      await pass(400);
      assert.equal(subject.statistics.lists, catchesUp ? 1 : 2);
      if (!catchesUp) {
        await server.list('60', []);
        await server.watch();
        assert.equal(subject.ageMs, 0, 'as fresh as its list');
      }
      await end();
    }
  });
});
