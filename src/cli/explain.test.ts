import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef, nodeRef, policyRef } from '../../test/support/act-cluster.ts';
import { parsedByFenceline } from '../../test/support/typed.ts';
import { explanationText } from '../report/explain-text.ts';
import { namespaces } from '../kube/resources.ts';
import { explainNode, withFlags } from './explain.ts';
import { UserError } from './user-error.ts';

describe('explain', () => {
  test('[EXP-1] which cluster was asked is said again in what is to be typed', async () => {
    const cluster = await ActCluster.create();
    const plain = await explainNode(cluster.client, 'node-1');
    const flags = { context: "jane's", kubeconfig: '/home/jane/my config', token: 'secret', namespace: 'x' };
    const { commands } = withFlags(plain, flags);
    assert.ok(commands.length > 0);
    for (const { command } of commands) {
      assert.match(command, / --kubeconfig='\/home\/jane\/my config' --context='jane'\\''s'$/);
      assert.doesNotMatch(command, /secret/);
    }
    const again = withFlags(plain, { context: 'prod' }).commands.find(({ command }) => command.startsWith('fenceline'));
    await parsedByFenceline(again?.command ?? '');
    assert.deepEqual(withFlags(plain, {}), plain);
  });

  test('a node that was never there is a mistake; one that is gone is explained from its record', async () => {
    const cluster = await ActCluster.create();
    await assert.rejects(explainNode(cluster.client, 'node-9'), UserError);
    await cluster.remove(nodeRef);
    const { summary, verdict } = await explainNode(cluster.client, 'node-1');
    assert.deepEqual([verdict.is, verdict.reason], ['down', 'NodeGone'], summary);
  });

  test('[EXP-1] nobody leads: it is said first, and how to mend it', async () => {
    const cluster = await ActCluster.create();
    const kept = await explainNode(cluster.client, 'node-1');
    assert.equal(kept.operator.leads, 'unknown', 'somebody keeps records, without an election or by another name');
    assert.doesNotMatch(kept.summary, /no operator leads/);
    await cluster.remove(fenceRef);
    await cluster.make(namespaces, { metadata: { name: 'ops' } });
    const { operator, commands, summary } = await explainNode(cluster.client, 'node-1', 'ops');
    assert.deepEqual(operator, { leads: 'nobody' });
    assert.match(summary, /no operator leads/);
    const asked = withFlags(await explainNode(cluster.client, 'node-1', 'ops'), { as: 'jane', context: 'prod' });
    const start = asked.commands.find(({ command }) => command.startsWith('fenceline run'))?.command ?? '';
    assert.match(start, /--as system:serviceaccount:ops:fenceline --context=prod$/, 'it is not run as who has asked');
    const run = 'fenceline run --leader-elect-namespace ops --as system:serviceaccount:ops:fenceline';
    assert.ok(commands.some(({ command }) => command === run));
  });

  test('[EXP-1, SEC-3] that its policy is refused is said before anything happens, and of the policy as it is written now', async () => {
    const cluster = await ActCluster.create();
    await cluster.remove(fenceRef);
    const ready = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastTransitionTime: null }];
    await cluster.patch(nodeRef, '/status/conditions', ready, 'status');
    const refused = async (observedGeneration: number): Promise<{ waits: unknown[]; text: string }> => {
      const message = 'the operator was told to forbid Jobs (remedy repair)';
      const condition = { type: 'Valid', status: 'False', reason: 'Forbidden', message, observedGeneration };
      const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      await cluster.patch(policyRef, '/status', { conditions }, 'status');
      const explained = await explainNode(cluster.client, 'node-1');
      return { waits: explained.waits.map(({ reason }) => reason), text: explanationText(explained) };
    };
    const { generation = 0 } = (await cluster.read(policyRef)).metadata;
    const { waits, text } = await refused(generation);
    assert.ok(waits.includes('Forbidden'), text);
    assert.match(text, /the operator was told to forbid Jobs \(remedy repair\)/);
    assert.match(text, /does without what is forbidden, or the operator is started without that --forbid/);
    assert.ok(!(await refused(generation + 1)).waits.includes('Forbidden'), 'it was edited since');
  });

  test('[EXP-1, ADM-7] nobody is told to cut a machine on which somebody works, whatever is on record', async () => {
    const cluster = await ActCluster.create();
    const since = '2026-01-01T00:00:00Z';
    const incident = { id: 'node-1-1', startedAt: since, trouble: 'Ready=Unknown', nodeUid: '1' };
    const alarm = { type: 'Alarm', status: 'True', reason: 'LadderExhausted', message: 'x', lastTransitionTime: since };
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', incident, conditions: [alarm] });
    const fences = async (): Promise<boolean> => {
      const { commands } = await explainNode(cluster.client, 'node-1');
      return commands.some(({ command }) => command.startsWith('fenceline fence'));
    };
    assert.equal(await fences(), true, 'nobody works on it');
    await cluster.patch(nodeRef, '/metadata/annotations', { 'fenceline.dev/maintenance-until': 'tomorrow' });
    assert.equal(await fences(), false);
    const { waits } = await explainNode(cluster.client, 'node-1');
    assert.match(waits[0]?.message ?? '', /which is no time: write one such as/);
  });
});
