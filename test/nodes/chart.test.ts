/**
 * The chart on a real node: the stock kubelet and containerd run its pods from the image of the Containerfile, under Pod Security
 * restricted, with nothing but the token and the address that Kubernetes gives to every pod.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureHelm, ensureNodePrograms } from '../../control-plane/build.ts';
import { helmHome } from '../chart/helm.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { commandsOf } from '../support/documents.ts';
import { makeSlimImage } from '../support/image-root.ts';
import { administratorOf, type } from '../support/install.ts';
import { NodeNetwork } from '../support/real-node/network.ts';
import { RealNode } from '../support/real-node/real-node.ts';
import { waitFor } from '../support/wait.ts';

const name = 'worker-1';
const image = 'registry.example.com/fenceline:0.1.0';
const [install = '', ...later] = commandsOf('docs/install.md', 'By helm');
const slim = '--set image.agents=false';

describe('the chart on a real node', { timeout: 300_000 }, () => {
  const undo: (() => unknown)[] = [];
  const home = helmHome();
  let controlPlane: ControlPlane;
  let env: NodeJS.ProcessEnv;
  let failed = true;

  before(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-image-'));
    undo.push(() => rmSync(dir, { recursive: true }));
    const archive = await makeSlimImage(dir, image);
    await NodeNetwork.removeAbandoned();
    const network = await NodeNetwork.make();
    undo.push(() => network.remove());
    const token = randomBytes(16).toString('hex');
    controlPlane = await startControlPlane({
      name: 'chart-on-a-node',
      users: [{ name: `system:node:${name}`, groups: ['system:nodes'], token }],
      apiserver: {
        serviceAccounts: true,
        flags: ['--bind-address=0.0.0.0', '--authorization-mode=Node', '--enable-admission-plugins=NodeRestriction'],
      },
      controllerManager: true,
      scheduler: true,
    });
    undo.push(() => controlPlane.stop({ keepLogs: failed }));
    const node = await RealNode.start({
      name,
      binaries: await ensureNodePrograms(),
      network,
      api: { port: controlPlane.port, caPem: controlPlane.caCert, token },
      logDir: controlPlane.logs,
      labels: { 'kubernetes.io/hostname': name },
      images: [archive],
      apiService: '10.96.0.1',
    });
    undo.push(() => node.remove());
    const administrator = await administratorOf(controlPlane);
    env = { ...home, ...administrator, PATH: `${dirname(await ensureHelm())}:${administrator['PATH']}` };
    const ready = 'kubectl wait --for=condition=Ready --timeout=1s node --all';
    await waitFor('the node to be Ready', () => type(ready, env).catch(() => ''), { timeoutMs: 60_000 });
    await type('kubectl create namespace fenceline', env);
    await type(later[0] ?? '', env);
  });

  after(async () => {
    for (const one of undo.toReversed()) await one();
    if (failed) console.log(`# logs are in ${controlPlane?.logs}`);
  });

  const rollout = 'kubectl rollout status deployment/fenceline --namespace fenceline --timeout=120s';

  async function holder(): Promise<string> {
    return type(`kubectl get lease fenceline -n fenceline -o 'jsonpath={.spec.holderIdentity}'`, env).catch(() => '');
  }

  test('[USE-1] its pods run as they are deployed, one leads, and an upgrade rolls through', async () => {
    await type(`${install} ${slim}`, env);
    await type(rollout, env);
    const first = await waitFor('a leader', holder);
    assert.match(await type('bin/fenceline status', env), /^NAME [^\n]*\nworker-1 +healthy /);
    const upgrade = later.find((line) => line.startsWith('helm upgrade')) ?? '';
    await type(upgrade, env);
    await type(rollout, env);
    const second = await waitFor('another leader', async () => {
      const now = await holder();
      return now !== first && now;
    });
    const running = await type(`kubectl get pods -n fenceline -o 'jsonpath={.items[*].metadata.name}'`, env);
    assert.ok(
      running.split(' ').some((pod) => second.startsWith(`${pod}_`)),
      `${second} is none of ${running}`,
    );
    const said = await type(
      `kubectl get pods -n fenceline -o 'jsonpath={.items[*].status.containerStatuses[*].restartCount}'`,
      env,
    );
    assert.equal(said, '0 0');
    failed = false;
  });
});
