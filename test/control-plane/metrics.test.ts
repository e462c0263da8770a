/** Metrics behind a door of their own, on the real API server, with the rights that docs/install.md grants. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createCertificateAuthority } from '../support/certificates.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { install, installCrds } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { operatorAccount, operatorKubeconfig, operatorNamespace } from '../support/operator-rights.ts';
import { waitFor } from '../support/wait.ts';

interface Answered {
  status: number;
  text: string;
  serial: string;
}

describe('protected metrics on the real API server', { timeout: 180_000 }, () => {
  const authority = createCertificateAuthority();
  let controlPlane: ControlPlane;
  let operator: OperatorProcess;
  let port = 0;

  function replaceCertificate(): void {
    const { certPem, keyPem } = authority.issue({ commonName: 'fenceline', hosts: ['127.0.0.1'] });
    writeFileSync(join(controlPlane.dir, 'tls.crt'), certPem);
    writeFileSync(join(controlPlane.dir, 'tls.key'), keyPem);
  }

  function ask(token?: string, path = '/metrics'): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          host: '127.0.0.1',
          port,
          path,
          ca: authority.certPem,
          agent: false,
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        },
        (response) => {
          const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber;
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text, serial }));
        },
      );
      asked.on('error', reject);
      asked.end();
    });
  }

  async function kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await controlPlane.kubectl(args);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  /** Not more often than an address may have it asked. */
  function settled(token: string): Promise<number> {
    return waitFor('an answer of the API server', async () => {
      const { status } = await ask(token);
      return status !== 503 && status;
    });
  }

  const tokenOf = (account: string): Promise<string> => kubectl('create', 'token', account, '-n', 'monitoring');

  before(async () => {
    controlPlane = await startControlPlane({ name: 'metrics', audit: true });
    await installCrds(controlPlane);
    const kubeconfig = await operatorKubeconfig(controlPlane);
    replaceCertificate();
    operator = new OperatorProcess([
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${operatorNamespace}`,
      '--metrics-bind-address=127.0.0.1:0',
      '--kdump-bind-address=[::1]:0',
      `--metrics-tls-cert-file=${join(controlPlane.dir, 'tls.crt')}`,
      `--metrics-tls-key-file=${join(controlPlane.dir, 'tls.key')}`,
    ]);
    const started = await operator.said('started', ({ msg }) => msg === 'started');
    port = Number(started['metricsPort']);
    await kubectl('create', 'namespace', 'monitoring');
    for (const account of ['prometheus', 'stranger']) {
      await kubectl('create', 'serviceaccount', account, '-n', 'monitoring');
    }
  });
  after(async () => {
    await operator?.[Symbol.asyncDispose]();
    await controlPlane?.stop();
  });

  test('[SEC-5] without the right to ask, nobody may, and the log says what to grant', async () => {
    assert.equal((await ask(await tokenOf('prometheus'))).status, 503);
    const told = await operator.said('why not', ({ msg }) => msg.startsWith('who may read metrics is not known'));
    assert.match(String(told['problem']), /tokenreviews.* is forbidden/);
    assert.equal(told['toDo'], 'kubectl apply -f deploy/metrics-role.yaml');
  });

  test('[SEC-5] no token 401, a token without the right 403, with the right 200', async () => {
    await install(controlPlane, 'metrics-role.yaml', 'docs/install.md');
    await install(controlPlane, 'kubectl create clusterrolebinding', 'docs/install.md');
    const [prometheus, stranger] = [await tokenOf('prometheus'), await tokenOf('stranger')];
    // Rights come to the API server's own view of them a moment after they are written.
    await waitFor('the right to ask', async () => (await ask(await tokenOf('stranger'))).status === 403);
    assert.equal((await ask()).status, 401);
    assert.equal(await settled('not-a-token'), 401);
    assert.equal(await settled(`${prometheus.slice(0, -4)}AAAA`), 401);
    assert.equal(await settled(stranger), 403);
    const read = await waitFor('the right to read', async () => {
      const answer = await ask(await tokenOf('prometheus'));
      return answer.status === 200 && answer;
    });
    assert.match(read.text, /^fenceline_build_info/m);
    assert.equal(await settled(prometheus), 200);
    const events = await controlPlane.auditEvents();
    const own = events.filter(({ user }) => user.username === operatorAccount);
    const asked = own.filter(({ objectRef }) => objectRef?.resource?.endsWith('reviews') === true);
    assert.ok(asked.length > 0 && asked.every(({ verb }) => verb === 'create'));
  });

  test('[SEC-5] the probes stay open, and have neither metrics nor anything else to tell', async () => {
    assert.deepEqual(await operator.get('/healthz'), { status: 200, text: 'ok\n' });
    await waitFor('ready', async () => (await operator.get('/readyz')).text === 'ok\n');
    assert.deepEqual(await operator.get('/metrics'), { status: 404, text: 'there are /healthz and /readyz\n' });
    assert.equal((await ask(await tokenOf('prometheus'), '/healthz')).status, 404);
  });

  test('[SEC-5] a flood at the kdump port is in the metrics, and not in the log', async () => {
    const { port: kdump } = await operator.said('kdump', ({ msg }) => msg === 'listening for crashed kernels');
    const socket = createSocket('udp6');
    const lines = operator.lines.length;
    const token = await tokenOf('prometheus');
    const flood = async (datagram: Buffer): Promise<void> => {
      for (let at = 0; at < 1000; at += 1) {
        await new Promise((sent) => {
          socket.send(datagram, Number(kdump), '::1', sent);
        });
      }
    };
    await flood(Buffer.from('402a301b01000000', 'hex'));
    await flood(Buffer.alloc(1000));
    socket.close();
    const counted = (text: string, result: string): number =>
      Number(new RegExp(`fenceline_kdump_messages_total\\{result="${result}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
    // The kernel may drop some of them.
    await waitFor('them to be counted', async () => {
      const { text } = await ask(token);
      return counted(text, 'stranger') > 0 && counted(text, 'malformed') > 0;
    });
    // Something else may have happened meanwhile.
    assert.ok(operator.lines.length - lines < 10, `${operator.lines.length - lines} lines`);
  });

  test('[SEC-5] the certificate is that of the files, and the new one after they are replaced', async () => {
    const { serial } = await ask();
    replaceCertificate();
    const changed = await waitFor('the new certificate', async () => {
      const now = await ask();
      return now.serial !== serial && now;
    });
    assert.equal(changed.status, 401);
  });

  test('[SEC-5] while the API server is away nobody new may, and whoever may does so for half a minute', async () => {
    const [known, unknown] = [await tokenOf('prometheus'), await tokenOf('prometheus')];
    await waitFor('a yes', async () => (await ask(known)).status === 200);
    controlPlane.pause('kube-apiserver');
    try {
      assert.equal((await ask(unknown)).status, 503);
      assert.equal((await operator.get('/healthz')).status, 200);
    } finally {
      controlPlane.resume('kube-apiserver');
    }
    await waitFor('a yes again', async () => (await ask(unknown)).status === 200);
    assert.equal(operator.stderr, '');
  });
});
