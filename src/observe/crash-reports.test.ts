import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { CrashReports } from './crash-reports.ts';

const crash = { bootId: 'b', address: '10.0.0.7', signs: { renewTime: 'one', heartbeatTime: 'then' } };

describe('reports of crashed kernels', () => {
  test('[SEC-5] a message that says nothing new is no news, however often it comes', () => {
    const reports = new CrashReports(manualClock());
    assert.equal(reports.heard('a', crash), 'crash');
    for (let at = 0; at < 1000; at += 1) assert.equal(reports.heard('a', crash), 'none');
    assert.equal(reports.heard('a', { ...crash, bootId: 'c' }), 'crash');
    assert.equal(reports.heard('a', { ...crash, bootId: 'c', signs: { ...crash.signs, renewTime: 'two' } }), 'signs');
    assert.deepEqual(reports.of('a')?.signs.renewTime, 'two');
  });

  test('[SEC-5] a living node that somebody else calls crashed has crashed once, however often it shows that it lives', () => {
    const clock = manualClock();
    const reports = new CrashReports(clock);
    const news = Array.from({ length: 1000 }, (_, at) => {
      clock.advance(10_000);
      return reports.heard('a', { ...crash, signs: { ...crash.signs, renewTime: String(at) } });
    });
    assert.equal(news.filter((what) => what === 'crash').length, 1);
  });

  test('[SEC-5] nodes that are gone are forgotten, without a look at all the others', () => {
    const clock = manualClock();
    const reports = new CrashReports(clock);
    for (let at = 0; at < 1000; at += 1) {
      reports.heard(`node-${at}`, crash);
      reports.heard('a', crash);
      clock.advance(6000);
    }
    assert.equal(reports.size, 101);
  });

  test('it is kept for as long as a dump may take, and news after that', () => {
    const clock = manualClock();
    const reports = new CrashReports(clock);
    reports.heard('a', crash);
    clock.advance(599_999);
    assert.deepEqual(reports.of('a'), { ...crash, heardForMs: 599_999 });
    clock.advance(1);
    assert.equal(reports.heard('b', crash), 'crash');
    assert.equal(reports.of('a'), undefined);
    assert.equal(reports.heard('a', crash), 'crash');
  });
});
