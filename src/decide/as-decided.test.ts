/** What is decided in one pass counts in it, and how a fence that can only isolate ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aCount,
  aFence,
  anIncident,
  aNode,
  aRemedy,
  inForce,
  renewedLease,
} from '../../test/support/release-case.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { Method } from '../api/fence-config.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import type { LadderThreshold, NodeCase } from '../api/release-view.ts';
import { actsOf } from '../api/steps.ts';
import { decideNode } from './decide-node.ts';

const at = '2026-01-01T00:09:00.000Z';
const notReady: LadderThreshold = {
  key: 'Ready=NotTrue',
  condition: { type: 'Ready', status: 'NotTrue', forMs: 5000 },
  remedies: [{ name: 'act', periodMs: 60_000, cleanResources: true }],
  recovery: [],
};
const storm = { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 0 };
const fencing = aRemedy({ thresholds: [notReady], kinds: { act: 'fence' }, storm });
const cutOff: Method = { name: 'fc-off', action: 'off', driver: 'agent:fence_brocade', parameters: {}, secrets: [] };
const config: NodeCase['config'] = {
  ok: true,
  config: {
    source: 'fence-config',
    isolation: [{ off: [cutOff], on: [] }],
    powerManagement: [],
    recovery: [{ off: [], on: [{ ...cutOff, name: 'fc-on', action: 'on' }] }],
  },
};

function deedsOf(nodeCase: NodeCase): string[] {
  return decideNode(nodeCase).steps.flatMap((step) => actsOf(step).map((act) => act.do));
}

describe('in the pass that begins a fence', () => {
  const trouble: NodeCase['trouble'] = {
    conditions: [{ type: 'Ready', status: 'Unknown', forMs: 60_000 }],
    leaseSilentMs: 60_000,
  };

  test('S3: nothing goes at a risk, whether or not there is a record yet', () => {
    for (const fence of [undefined, aFence({})]) {
      const count = aCount({ nodes: 5, troubled: 1 });
      const { fence: _, ...unrecorded } = aCase({ trouble, count, config });
      const nodeCase = fence === undefined ? unrecorded : { ...unrecorded, fence };
      const fenced = { ...nodeCase, policy: inForce({ remedy: fencing }) };
      assert.ok(decideNode(fenced).findings?.remedy.fence !== undefined, 'a fence begins');
      assert.ok(!deedsOf(fenced).includes('forceDelete'));
      const unfenced = { ...nodeCase, policy: inForce({ remedy: aRemedy({}) }) };
      assert.ok(deedsOf(unfenced).includes('forceDelete'), 'it is the fence that holds it back');
    }
  });
});

describe('a fence that only isolates a node that is Ready', () => {
  const requested = { by: 'jane', at: '2026-01-01T00:08:00Z' };
  const status: Partial<NodeFenceStatus> = {
    incident: anIncident(),
    request: { ...requested, answeredAt: at, reason: 'TakenUp' },
    fence: {
      step: 'isolation',
      status: 'running',
      phase: 'isolated',
      level: 0,
      index: 0,
      retries: 0,
      restarts: 0,
      startedAt: at,
      stepStartedAt: at,
      bootId: 'boot-1',
      cleanResources: true,
      method: 'fc-off',
      switched: [
        {
          step: 'isolation',
          method: 'fc-off',
          device: deviceHash(cutOff) ?? '',
          storage: [],
          commandSentAt: at,
          confirmedAt: at,
        },
      ],
    },
  };
  const after = (
    spec: Partial<NodeFence['spec']>,
    bootId = 'boot-1',
    more: Partial<NodeCase> = {},
  ): NodeFenceStatus['fence'] =>
    decideNode(
      aCase({
        pods: [],
        attachments: [],
        policy: inForce({ remedy: fencing }),
        count: aCount({ nodes: 5, troubled: 0 }),
        config,
        node: aNode({ ready: 'True', volumesInUse: [], bootId }),
        lease: renewedLease,
        fence: aFence(status, spec),
        ...more,
      }),
    ).findings?.remedy.fence;

  test('[FEN-2] goes on while somebody asks for it, and says until when', () => {
    const asked = after({ requested });
    assert.equal(asked?.phase, 'isolated');
    assert.match(asked?.waitsFor ?? '', /until it is booted again, or whoever asked for the fence takes that back$/u);
  });

  test('[FEN-2, RET-2] ends when that is taken back, or the machine was booted again', () => {
    assert.equal(after({})?.phase, 'recovering');
    assert.equal(after({ requested }, 'boot-2')?.phase, 'recovering');
    assert.equal(after({ requested }, '')?.phase, 'isolated', 'whose kubelet says nothing of its boot');
  });

  test('[FEN-2, SAF-17] ends where it may be the port of another one that was closed, and nothing else is to be cut', () => {
    const unshownPorts = [deviceHash(cutOff) ?? ''];
    assert.equal(after({ requested }, 'boot-1', { unshownPorts })?.phase, 'recovering');
    assert.equal(after({ requested }, 'boot-1', { unshownPorts: ['another'] })?.phase, 'isolated');
    const withPower = { ...config, config: { ...config.config, powerManagement: [{ off: [cutOff], on: [] }] } };
    assert.notEqual(after({ requested }, 'boot-1', { unshownPorts, config: withPower })?.phase, 'recovering');
  });
});
