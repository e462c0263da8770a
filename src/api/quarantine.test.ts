import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCase, aFence, aNode, anIncident, driver, quarantine } from '../../test/support/release-case.ts';
import { isForgotten, markOf } from './quarantine.ts';
import type { NodeCase } from './release-view.ts';

const attachless = { [driver]: { name: driver, safeDetach: false, unpublishFence: false, attachless: true } };
const recorded = aFence({ incident: anIncident() });

test('[SAF-4] the quarantine says of which boot nothing shows that it has ended, and which incident knows more', () => {
  const value = markOf(aCase({ drivers: attachless, fence: recorded }));
  assert.match(value ?? '', /^[0-9a-z]+\.[0-9a-z]+$/);
  assert.equal(markOf(aCase({ fence: recorded })), undefined, 'its kubelet reports every volume');
  assert.equal(markOf(aCase({ drivers: attachless, fence: recorded, pods: [] })), undefined);
  const later = (change: Partial<NodeCase>, node = {}): boolean =>
    isForgotten(aCase({ node: aNode({ taints: [{ ...quarantine, ...(value && { value }) }], ...node }), ...change }));
  assert.equal(later({ fence: recorded }), false, 'it is on record');
  assert.equal(later({}), true);
  assert.equal(later({ fence: aFence() }), true);
  assert.equal(later({ fence: aFence({ incident: anIncident({ id: 'node-1-2' }) }) }), true);
  assert.equal(later({}, { bootId: 'boot-7' }), false, 'it was rebooted');
  assert.equal(later({}, { taints: [quarantine] }), false, 'as somebody else, or an earlier version, has put it there');
  assert.equal(later({}, { taints: [] }), false);
});
