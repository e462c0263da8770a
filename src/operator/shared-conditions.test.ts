/** For how long a node has had a condition, as the brake counts it: by our own clock, from when anybody looked for it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { minutesAgo } from '../../test/support/fenced-case.ts';
import { aNode, aRemedy, inForce } from '../../test/support/release-case.ts';
import { SharedStage } from '../../test/support/shared-stage.ts';
import type { LadderThreshold } from '../api/release-view.ts';
import type { NodeCondition } from '../api/view.ts';

describe('since when a node has a condition', () => {
  const broken: NodeCondition = { type: 'DiskBroken', status: 'True', reason: '', since: minutesAgo(9) };
  const threshold = {
    key: 'DiskBroken',
    condition: { type: 'DiskBroken', status: 'True', forMs: 60_000 },
    remedies: [{ name: 'off' }],
  } as unknown as LadderThreshold;
  const remedy = aRemedy({ thresholds: [threshold], kinds: { off: 'fence' } });
  const troubledBy = (stage: SharedStage): number =>
    stage.complete({ policy: inForce({ remedy }) }).count.byThreshold['DiskBroken']?.troubled ?? 0;
  const looking = (stage: SharedStage): void => {
    stage.policySummary = { ...stage.policySummary, thresholds: [threshold], stamp: 'new' };
  };

  test('[STM-1] is known from when policies look for it: what was so then may have been so for long, what came since has not', () => {
    const stage = new SharedStage();
    stage.add('a', { conditions: [broken] });
    looking(stage);
    stage.shared.touched('b', 'lease');
    assert.equal(troubledBy(stage), 1, 'all were looked at, whoever it was that changed');
    stage.add('b', { conditions: [broken] });
    stage.shared.touched('b', 'node');
    assert.equal(troubledBy(stage), 1);
    stage.clock.advance(60_000);
    assert.equal(troubledBy(stage), 2);
    stage.shared.touched('b', 'lease');
    assert.equal(troubledBy(stage), 2, 'nothing has changed');
  });

  test('[STM-1] whoever has the name of one that is gone is seen for the first time', () => {
    const stage = new SharedStage();
    looking(stage);
    stage.shared.touched('b', 'node');
    stage.nodes.delete('b');
    stage.shared.touched('b', 'node');
    stage.add('b', { conditions: [broken] });
    assert.equal(troubledBy(stage), 1);
  });

  test('is by our own clock, and is forgotten with the node', () => {
    const stage = new SharedStage();
    const node = aNode({ conditions: [broken] });
    const forMs = (): number | undefined => stage.complete({ node }).trouble.conditions[0]?.forMs;
    assert.equal(forMs(), 0);
    stage.clock.advance(5000);
    assert.equal(forMs(), 5000);
    stage.shared.forget('node-1');
    assert.equal(forMs(), 0);
  });

  test('[STM-1] what no ladder of the node would cut for is not counted', () => {
    const stage = new SharedStage();
    stage.add('a', { conditions: [broken] });
    looking(stage);
    stage.shared.touched('b', 'lease');
    const mild = inForce({ remedy: { ...remedy, kinds: { off: 'cordon' } } });
    assert.deepEqual(stage.complete({ policy: mild }).count.byThreshold, {});
  });
});
