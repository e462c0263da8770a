/**
 * A node that is cut off goes on writing, and nobody can reach its power: the storage takes its access away. The driver of these volumes
 * keeps the promise of SafeDetach, and fences where the VolumeAttachment asks for it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SAFE_DETACH_ANNOTATION, UNPUBLISH_FENCE_ANNOTATION } from '../../src/api/release-view.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';
import { installCrds } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { operatorKubeconfig } from '../support/operator-rights.ts';
import { RealCluster, safeDriver } from '../support/real-node/cluster.ts';
import { Database, type DatabasePod } from '../support/real-node/database.ts';
import { waitFor } from '../support/wait.ts';

const patient = { timeoutMs: 90_000 };
const onlyExhaustive = { skip: process.env['FENCELINE_EXHAUSTIVE'] !== '1' };

describe('storage that fences', { timeout: 600_000, ...onlyExhaustive }, () => {
  let cluster: RealCluster;
  let failed = true;

  before(async () => {
    const nodes = [{ name: 'worker-1' }, { name: 'worker-2' }];
    cluster = await RealCluster.start({ name: 'storage-fence', nodes, drivers: [safeDriver] });
    await installCrds(cluster.controlPlane);
    const kubeconfig = await operatorKubeconfig(cluster.controlPlane);
    const gate = '--feature-gates=NonGracefulFailover=true';
    const operator = new OperatorProcess(['--kubeconfig', kubeconfig, '--leader-elect-namespace=fenceline', gate]);
    cluster.onStop(() => operator[Symbol.asyncDispose]());
    const policy = { allNodes: true, release: { podDeletion: 'do-nothing' } };
    await apply({
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'RemedyPolicy',
      metadata: { name: 'all' },
      spec: policy,
    });
  });

  after(() => cluster?.stop(failed));

  async function apply(object: object): Promise<void> {
    const { code, stderr } = await cluster.controlPlane.kubectl(['apply', '-f', '-'], {
      input: JSON.stringify(object),
    });
    assert.equal(code, 0, stderr);
  }

  async function get<T>(...what: string[]): Promise<T | undefined> {
    const { code, stdout, stderr } = await cluster.controlPlane.kubectl([
      'get',
      ...what,
      '--ignore-not-found',
      '-o',
      'json',
    ]);
    assert.equal(code, 0, stderr);
    return stdout.trim() === '' ? undefined : (JSON.parse(stdout) as T);
  }

  async function attachmentOf({ volume }: Database, node: string): Promise<VolumeAttachment | undefined> {
    const list = await get<{ items: VolumeAttachment[] }>('volumeattachments');
    return list?.items.find(({ spec }) => spec.nodeName === node && spec.source.persistentVolumeName === volume);
  }

  /** The last line of a pod that was on the disk by its word, or that it has read there. */
  async function counted({ node, uid }: DatabasePod, word: 'wrote' | 'read'): Promise<number> {
    const lines = await cluster.node(node).saidBy(uid);
    return Number(lines.findLast((line) => line.startsWith(`${word} `))?.split(' ')[1]);
  }

  /** It has the volume open, and writes to it. */
  async function isWriting(database: Database, { node }: DatabasePod): Promise<void> {
    const from = cluster.node(node).storageAddress;
    const sinceMs = Date.now();
    await waitFor(`${node} to write`, () =>
      cluster.storage.ledger.writes.some(
        ({ connection, at }) =>
          connection.volume === database.volume && connection.from === from && at.getTime() > sinceMs,
      ),
    );
  }

  async function allIsWell(database: Database): Promise<void> {
    assert.deepEqual(await database.losses(), []);
    assert.deepEqual(cluster.storage.ledger.twoWriters(), []);
    assert.deepEqual(cluster.storage.ledger.complaints, []);
  }

  async function inService(name: string): Promise<void> {
    await waitFor(
      `${name} to be in service`,
      async () => {
        const node = await get<Node>('node', name);
        const isReady = node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
        return isReady === true && node?.spec?.taints === undefined;
      },
      patient,
    );
  }

  function install(name: string, canFence: boolean): Promise<Database> {
    const said = { [SAFE_DETACH_ANNOTATION]: 'true', [UNPUBLISH_FENCE_ANNOTATION]: String(canFence) };
    return Database.install(cluster, name, { driver: safeDriver, driverAnnotations: said });
  }

  test('[NGS-5, NGS-8] it takes the volume from a node that still writes, and nobody loses power or data', async (t) => {
    const database = await install('fenced', true);
    const first = await database.untilWriting();
    const startedAt = Date.now();
    const said = (what: string): void => t.diagnostic(`${((Date.now() - startedAt) / 1000).toFixed(1)} s: ${what}`);
    await cluster.node(first.node).partition();
    await isWriting(database, first);
    // It is started again and again without access, and its kubelet keeps only what the last of them said.
    const acknowledged = await counted(first, 'wrote');
    const second = await database.untilWriting(first);
    said('it writes elsewhere');
    assert.ok((await counted(second, 'read')) >= acknowledged);
    assert.notEqual(second.node, first.node);
    assert.deepEqual(cluster.controller.fenced, [{ volume: database.volume, node: first.node }]);
    assert.ok(cluster.node(first.node).isOn);
    await waitFor('the old one to be told', async () => {
      const lines = await cluster.node(first.node).saidBy(first.uid);
      return lines.some((line) => line.startsWith('failed '));
    });
    await allIsWell(database);
    await cluster.node(first.node).heal();
    await inService(first.node);
    said('the node is back');
    assert.deepEqual(await cluster.node(first.node).mountsOf(first.uid), []);
    // It may have the volume again, and finds all of it there.
    await cluster.controlPlane.kubectl(['cordon', second.node]);
    await cluster.controlPlane.kubectl(['delete', 'pod', `${database.name}-0`]);
    const third = await database.untilWriting(second);
    assert.equal(third.node, first.node);
    await cluster.controlPlane.kubectl(['uncordon', second.node]);
    await allIsWell(database);
    await cluster.controlPlane.kubectl(['delete', 'statefulset', database.name, '--cascade=foreground']);
  });

  test('[NGS-5, NGS-7] where it cannot fence it refuses, as long as the node has the volume open', async () => {
    const database = await install('refused', false);
    const first = await database.untilWriting();
    const fenced = cluster.controller.fenced.length;
    await cluster.node(first.node).partition();
    const refusal = await waitFor(
      'the refusal',
      async () => (await attachmentOf(database, first.node))?.status?.detachError?.message,
      patient,
    );
    assert.equal(refusal, `volume ${database.volume} is still in use on node ${first.node}`);
    assert.equal(
      (await attachmentOf(database, first.node))?.metadata.annotations?.[UNPUBLISH_FENCE_ANNOTATION],
      undefined,
    );
    await isWriting(database, first);
    assert.notEqual((await database.pod())?.uid, first.uid, 'its pod is gone');
    await cluster.node(first.node).heal();
    const second = await database.untilWriting(first);
    await inService(first.node);
    await isWriting(database, second);
    assert.equal(cluster.controller.fenced.length, fenced);
    await allIsWell(database);
    failed = false;
  });
});
