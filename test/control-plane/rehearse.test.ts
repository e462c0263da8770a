/** A failure of a cluster behind the real API server, rehearsed as a person does it, who then finds the cluster untouched. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { nodeEntries, nodeName } from '../../bench/lib/node-objects.ts';
import { claimEntries, podEntries } from '../../bench/lib/objects.ts';
import type { WorkloadReport } from '../../src/cli/check-workloads.ts';
import type { Outcome } from '../../src/scenario/from-cluster/outcome.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { installCrds } from '../support/install.ts';
import { workersPolicy } from '../support/workers.ts';

describe('a live cluster is rehearsed, and only read', () => {
  let controlPlane: ControlPlane;

  before(async () => {
    const users = [{ name: 'jane', token: 'token-of-jane', groups: ['system:masters'] }];
    controlPlane = await startControlPlane({ name: 'rehearse', users, audit: true });
    await installCrds(controlPlane);
    await controlPlane.etcdPut(nodeEntries(50));
    await controlPlane.etcdPut(podEntries(500, 50));
    await controlPlane.etcdPut(claimEntries(500));
    const applied = await controlPlane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(workersPolicy()) });
    assert.equal(applied.code, 0, applied.stderr);
  });
  after(() => controlPlane?.stop());

  async function fenceline(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const KUBECONFIG = await controlPlane.kubeconfigFor('jane');
    const options = { env: { ...process.env, KUBECONFIG }, maxBuffer: 2 ** 26 };
    return promisify(execFile)('bin/fenceline', args, options).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  }

  test('[EXP-2, EXP-4] fifty nodes and five hundred pods: an outcome, and not one write', async () => {
    const node = nodeName(7);
    const rehearsed = await fenceline('simulate', '--from-cluster', '--node', node, '--run-for', '3m', '-o', 'json');
    assert.equal(rehearsed.code, 0, rehearsed.stderr);
    const { failed, runs } = JSON.parse(rehearsed.stdout) as { failed: string[]; runs: Outcome[] };
    assert.deepEqual(failed, [node]);
    const [fate] = runs[0]?.nodes ?? [];
    assert.deepEqual([fate?.node, fate?.releases[0]?.basis], [node, 'PowerOff']);
    assert.equal(runs[0]?.pods.length, 10);
    const printed = await fenceline('simulate', '--from-cluster', '--node', node, '--print-scenario');
    assert.match(printed.stdout, /^apiVersion: fenceline\.dev\/v1alpha1\nkind: Scenario\n/);
    const checked = await fenceline('check', '--workloads', '-o', 'json');
    assert.equal((JSON.parse(checked.stdout) as WorkloadReport).unread.length, 0, checked.stderr);
    const wrong = await fenceline('simulate', '--from-cluster', '--node', 'nobody');
    assert.deepEqual([wrong.code, wrong.stderr.startsWith('no such node: nobody; did you mean ')], [2, true]);
    const asked = (await controlPlane.auditEvents()).filter(({ user }) => user.username === 'jane');
    assert.ok(asked.length > 20);
    // Whether the namespace of the operator is there is asked for by its name.
    const got = asked
      .filter(({ verb }) => verb !== 'list')
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`);
    assert.deepEqual([...new Set(got)], ['get namespaces']);
  });
});
