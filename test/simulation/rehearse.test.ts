/**
 * A failure of a live cluster, rehearsed: the cluster is an embedded one, read by the same client as a real one. What the
 * rehearsal says is compared with what then really happens there.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import type { Snapshot } from '../../src/api/snapshot.ts';
import { planOf, textOf } from '../../src/cli/rehearse.ts';
import type { RehearsalFlags } from '../../src/cli/rehearse.ts';
import { snapshotOf } from '../../src/cli/snapshot-of.ts';
import { toYaml } from '../../src/cli/yaml.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { Outcome } from '../../src/scenario/from-cluster/outcome.ts';
import { runDocument } from '../../src/scenario/from-cluster/plan.ts';
import { parseScenarios } from '../../src/scenario/parse.ts';
import { ScenarioError } from '../../src/scenario/reader.ts';
import { runScenario } from '../../src/scenario/runner.ts';
import { deployment, statefulSet, workersPolicy } from '../support/workers.ts';
import { driver, volume } from './trouble.ts';

const policy = workersPolicy();
const device = {
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'FenceDevice',
  metadata: { name: 'bmc', namespace: 'fenceline' },
  spec: {
    selector: { matchLabels: { pool: 'workers' } },
    agent: 'fence_ipmilan',
    parameters: { ip: '10.0.0.{{number}}', username: 'admin' },
    values: [1, 2, 3].map((number) => ({ node: `node-${number}`, values: { number: String(number) } })),
    secrets: ['bmc'],
  },
};

const secret = 'confidential';
const volumeOf = (name: string, claim: string): object =>
  volume(name, claim, { csi: { driver, volumeHandle: name, volumeAttributes: { key: secret } } });
const database = statefulSet('db', 2, { env: [{ name: 'PASSWORD', value: secret }] });
const web = deployment('web', 3);
const objects = [volumeOf('pv-0', 'data-db-0'), volumeOf('pv-1', 'data-db-1'), database, web, device];
const nodes = [1, 2, 3].map((number) => ({
  name: `node-${number}`,
  zone: `z${number}`,
  labels: { pool: 'workers', rack: number === 3 ? 'r2' : 'r1' },
}));

/** The live cluster, at rest and without Fenceline's policies unless they are among the objects. */
async function snapshotOfCluster(of: readonly object[], changes: object = {}): Promise<Snapshot> {
  const spec = { cluster: { nodes, operators: 0, ...changes }, objects: of, runFor: '1s' };
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec });
  const [scenario] = parseScenarios('live', text);
  assert.ok(scenario !== undefined);
  let taken: Promise<Snapshot> | undefined;
  let read: () => Promise<Snapshot> = () => Promise.reject(new Error('no world'));
  await runScenario(scenario, () => 0, {
    onWorld: (world, clock) => {
      const transport = world.server.transport('jane');
      const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
      read = () => snapshotOf(client, 'fenceline');
      world.server.onAudit(({ user, verb, resource }) => {
        assert.notEqual(user, 'jane', `${verb} ${resource}`);
      });
    },
    onZero: () => {
      taken = read();
    },
  });
  assert.ok(taken !== undefined);
  return taken;
}

async function outcomes(snapshot: Snapshot, flags: RehearsalFlags): Promise<Outcome[]> {
  const { documents, struck } = planOf(snapshot, { runFor: '20m', ...flags });
  const found: Outcome[] = [];
  for (const { document } of documents) found.push(await runDocument(document, { struck, wallNow: () => 0 }));
  return found;
}

function nodeOf(snapshot: Snapshot, pod: string): string {
  const found = snapshot.pods.find(({ namespace, name }) => `${namespace}/${name}` === pod)?.node;
  assert.ok(found !== undefined, pod);
  return found;
}

describe('simulate --from-cluster', () => {
  test('[EXP-2] power lost under the policy in force: fenced, freed, running elsewhere and back, each with its time', async () => {
    const snapshot = await snapshotOfCluster([...objects, policy]);
    const node = nodeOf(snapshot, 'default/db-0');
    const [outcome] = await outcomes(snapshot, { node: [node] });
    assert.ok(outcome !== undefined);
    assert.deepEqual(outcome.violations, []);
    const [fate, ...others] = outcome.nodes;
    assert.deepEqual(others, []);
    assert.ok(fate !== undefined && fate.node === node && fate.struck);
    assert.ok((fate.suspectedAt ?? 0) > 0 && (fate.suspectedAt ?? 0) <= 12_500, JSON.stringify(fate));
    assert.equal(fate.releases[0]?.basis, 'PowerOff');
    assert.ok((fate.backAt ?? 0) > (fate.releases[0]?.at ?? 0), JSON.stringify(fate));
    const pod = outcome.pods.find((one) => one.pod === 'default/db-0');
    assert.ok(pod?.becomes === 'runs elsewhere' && pod.on !== node, JSON.stringify(pod));
    assert.ok((pod.runningAt ?? Infinity) < 20_000);
  });

  test('[EXP-2, SEC-3] under a policy that the operator refuses nothing is done, and it is said why', async () => {
    const read = await snapshotOfCluster([...objects, policy]);
    const refused = 'the operator was told to forbid Jobs';
    const snapshot = { ...read, policies: read.policies.map((one) => ({ ...one, refused })) };
    const node = nodeOf(snapshot, 'default/db-0');
    const [outcome] = await outcomes(snapshot, { node: [node] });
    assert.deepEqual(outcome?.nodes[0]?.releases, []);
    const { notes } = planOf(snapshot, { node: [node] });
    assert.ok(
      notes.some((note) => note.endsWith(`is taken as one that does nothing: ${refused}`)),
      notes.join(),
    );
  });

  test('[EXP-2] nothing of the cluster is written, and nothing confidential is taken along', async () => {
    const snapshot = await snapshotOfCluster([...objects, policy]);
    const { documents } = planOf(snapshot, { node: ['node-1'] });
    const text = JSON.stringify(documents);
    assert.equal(text.includes('confidential'), false);
    assert.ok(text.includes('driver.longhorn.io') && text.includes('fence_ipmilan'));
    // Kept as YAML and read again it is the same scenario.
    const document = documents[0]?.document;
    const [kept] = parseScenarios('kept', toYaml(document));
    const [read] = parseScenarios('kept', JSON.stringify(document));
    const places = /"where":"[^"]*"/g;
    assert.equal(JSON.stringify(kept).replaceAll(places, ''), JSON.stringify(read).replaceAll(places, ''));
  });

  test('[EXP-2] a policy that is not in force yet, beside the one that is', async () => {
    const release = { ...policy, metadata: { name: 'now' }, spec: { allNodes: true } };
    const snapshot = await snapshotOfCluster([...objects, release]);
    const file = join(mkdtempSync(join(tmpdir(), 'fenceline-rehearse-')), 'policy.json');
    writeFileSync(file, JSON.stringify({ ...policy, metadata: { name: 'now' } }));
    const node = nodeOf(snapshot, 'default/db-0');
    const flags = { node: [node], policy: file };
    const [now, then] = await outcomes(snapshot, flags);
    rmSync(dirname(file), { recursive: true });
    assert.ok(now !== undefined && then !== undefined);
    const fate = ({ pods }: Outcome): string | undefined => pods.find(({ pod }) => pod === 'default/db-0')?.becomes;
    assert.deepEqual([fate(now), fate(then)], ['stuck', 'runs elsewhere']);
    const text = textOf({ notes: [], unwell: new Set() }, [
      { policies: 'in force', outcome: now },
      { policies: 'proposed', outcome: then },
    ]);
    assert.match(text, /^NODE +IN FORCE +PROPOSED\n/);
    assert.match(text, /^default\/db-0 +node-\d +stuck: .* runs 0:1\d\.\d on node-/m);
  });

  test('[EXP-2] a switch that fails is told from machines that do: most nodes silent, none is fenced', async () => {
    const snapshot = await snapshotOfCluster([...objects, policy]);
    const [outcome] = await outcomes(snapshot, { switch: ['rack=r1'], endsAfter: '5m' });
    assert.deepEqual(
      outcome?.nodes.map(({ node, struck, fencedAt }) => [node, struck, fencedAt]),
      [
        ['node-1', true, undefined],
        ['node-2', true, undefined],
      ],
    );
    assert.ok(outcome.nodes.every(({ holds }) => holds.length > 0 && holds.every(({ message }) => message !== '')));
    assert.deepEqual(outcome.violations, []);
  });

  test('[EXP-2] a BMC that says yes and does nothing: held, and why', async () => {
    const snapshot = await snapshotOfCluster([...objects, policy]);
    const node = nodeOf(snapshot, 'default/db-0');
    const [outcome] = await outcomes(snapshot, { node: [node], how: 'partition', bmc: 'ignores' });
    const pod = outcome?.pods.find((one) => one.pod === 'default/db-0');
    assert.ok(pod?.becomes === 'stuck' && (pod.why ?? '') !== '', JSON.stringify(pod));
    assert.deepEqual(outcome?.violations, []);
  });

  test('[EXP-2] a zone that is not there, a node that is misspelt, nothing to fail: told in a sentence', async () => {
    const snapshot = await snapshotOfCluster(objects);
    const refused = (flags: RehearsalFlags): string => {
      try {
        planOf(snapshot, flags);
      } catch (error) {
        if (error instanceof ScenarioError) return error.problems.join(' ');
        throw error;
      }
      return 'accepted';
    };
    assert.equal(refused({ node: ['nod-1'] }), 'no such node: nod-1; did you mean node-1?');
    assert.equal(refused({ zone: ['z9'] }), 'no node is in zone z9; did you mean z1?');
    assert.match(refused({ switch: ['rack=r7'] }), /no node has this label/);
    assert.match(refused({}), /^what is to fail\? Write --node NAME/);
    assert.match(refused({ node: ['node-1'], policy: '/nowhere' }), /\/nowhere: ENOENT/);
    const file = join(mkdtempSync(join(tmpdir(), 'fenceline-rehearse-')), 'policy.json');
    const proposed = (spec: object): string => {
      writeFileSync(file, JSON.stringify({ ...policy, spec: { allNodes: true, ...spec } }));
      return refused({ node: ['node-1'], policy: file }).replace(file, 'policy.json');
    };
    const misspelt = proposed({ treshholds: [], storm: { maxUnresponsiv: 1 } });
    rmSync(dirname(file), { recursive: true });
    assert.match(
      misspelt,
      /^policy.json: workers: spec\.treshholds: there is no such field; did you mean thresholds\? .*maxUnresponsiv: there is no such field; did you mean maxUnresponsive\?$/,
    );
  });

  test('[EXP-2] what was found off, and what was only cut off from its storage, is not told as confirmed off', async () => {
    const snapshot = await snapshotOfCluster([...objects, policy]);
    const node = nodeOf(snapshot, 'default/db-0');
    const told = async (how: 'powerOff' | 'partition'): Promise<string> => {
      const { documents, struck } = planOf(snapshot, { node: [node], how, runFor: '5m' });
      const outcome = await runDocument(documents[0]?.document ?? assert.fail(), { struck, wallNow: () => 0 });
      return textOf({ notes: [], unwell: new Set() }, [{ policies: 'in force', outcome }]);
    };
    const lost = await told('powerOff');
    assert.match(lost, /suspected \S+, found off \S+, frees/);
    assert.doesNotMatch(lost, /confirmed off|fenced/);
    assert.match(await told('partition'), /suspected \S+, fenced \S+, confirmed off \S+, frees/);
  });

  test('[EXP-2] odd clusters: no Leases, no zone, nodes down or cordoned, devices that nobody has written', async () => {
    const whole = await snapshotOfCluster([web, policy]);
    const snapshot: Snapshot = {
      ...whole,
      nodes: whole.nodes.map(({ leaseSeconds: _leaseSeconds, ...node }, index) =>
        index === 1
          ? { ...node, ready: 'Unknown' as const }
          : index === 2
            ? { ...node, isCordoned: true }
            : { ...node, zone: '' },
      ),
      unread: [{ what: 'poddisruptionbudgets.policy', why: 'you may not read them' }],
    };
    const { notes } = planOf(snapshot, { node: ['node-1'] });
    for (const said of [
      'without a Lease: node-1, node-2, node-3 (in the simulation they renew one as the others do)',
      'not Ready: node-2 (taken as cut off from the network when the failure begins)',
      'without a device that could switch them off: node-1, node-2, node-3 (nothing is written for them)',
      'poddisruptionbudgets.policy are taken as if there were none: you may not read them',
    ]) {
      assert.ok(notes.includes(said), `${said}\n${notes.join('\n')}`);
    }
    const [outcome] = await outcomes(snapshot, { node: ['node-1'], runFor: '5m' });
    assert.equal(outcome?.nodes.find(({ node }) => node === 'node-1')?.confirmedAt, undefined);
  });

  /** As many nodes as wanted, each like one of the three, with a pod of its own. */
  function enlarged(snapshot: Snapshot, count: number): Snapshot {
    const [node] = snapshot.nodes;
    const [pod] = snapshot.pods;
    assert.ok(node !== undefined && pod !== undefined);
    const all = Array.from({ length: count }, (_, index) => `big-${index + 1}`);
    return {
      ...snapshot,
      nodes: all.map((name, index) => ({
        ...node,
        name,
        zone: `z${(index % 3) + 1}`,
        labels: { pool: 'cloud', half: index < count * 0.3 ? 'first' : 'second' },
        providerId: `aws:///z/${name}`,
      })),
      pods: all.map((name) => {
        const { owner: _owner, ...bare } = pod;
        const spec = { ...pod.object.spec, nodeName: name };
        return {
          ...bare,
          name,
          uid: name,
          node: name,
          object: { ...pod.object, metadata: { name, namespace: 'default' }, spec },
        };
      }),
      sets: [],
    };
  }

  test('[EXP-2] of a large cluster the failed part is simulated and the rest is counted, by the brake too', async () => {
    const snapshot = enlarged(await snapshotOfCluster([web, policy]), 150);
    const { documents, notes, struck } = planOf(snapshot, { switch: ['half=first'], how: 'powerOff', runFor: '40s' });
    const [plan] = documents;
    assert.ok(plan !== undefined);
    const { nodes: taken, others } = plan.document.spec.cluster as { nodes: object[]; others: { count: number }[] };
    assert.deepEqual([struck.size, taken.length], [45, 105]);
    assert.equal(
      others.reduce((sum, { count }) => sum + count, 0),
      45,
    );
    assert.ok(
      notes.some((note) => note.startsWith('of 150 nodes and 150 pods, 105 nodes and ')),
      notes.join('\n'),
    );
    // 45 of 105 were more than 40 %; of 150 they are not.
    const outcome = await runDocument(plan.document, { struck, wallNow: () => 0 });
    const storms = outcome.nodes.flatMap(({ holds }) => holds.filter(({ reason }) => /Storm/.test(reason)));
    assert.deepEqual(storms, []);
    assert.ok(outcome.nodes.some(({ releases }) => releases.length > 0));
  });
});
