import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { CrashReports } from './crash-reports.ts';

const crash = { bootId: 'b', address: '10.0.0.7', signs: { renewTime: 'one', heartbeatTime: 'then' } };

describe('reports of crashed kernels', () => {
  test('[SEC-5] a message that says nothing new is no news, however often it comes', () => {
    const reports = new CrashReports(manualClock());
    assert.equal(reports.heard('a', crash), true);
    for (let at = 0; at < 1000; at += 1) assert.equal(reports.heard('a', crash), false);
    assert.equal(reports.heard('a', { ...crash, bootId: 'c' }), true);
    assert.equal(reports.heard('a', { ...crash, bootId: 'c', signs: { ...crash.signs, renewTime: 'two' } }), true);
    assert.deepEqual(reports.of('a')?.signs.renewTime, 'two');
  });

  test('it is kept for as long as a dump may take, and news after that', () => {
    const clock = manualClock();
    const reports = new CrashReports(clock);
    reports.heard('a', crash);
    clock.advance(599_999);
    assert.deepEqual(reports.of('a'), { ...crash, heardForMs: 599_999 });
    clock.advance(1);
    assert.equal(reports.heard('b', crash), true);
    assert.equal(reports.of('a'), undefined);
    assert.equal(reports.heard('a', crash), true);
  });
});
