/** The embedded API server over HTTP, and the stock kubectl that talks to it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureControlPlane } from '../../control-plane/build.ts';
import { realClock } from '../../src/clock.ts';
import { HttpFront } from '../../src/world/api-server/http-front.ts';
import { ApiServer } from '../../src/world/api-server/server.ts';
import type { KubectlResult } from './control-plane/kubectl.ts';
import { runKubectl } from './control-plane/kubectl.ts';

export class EmbeddedKubectl {
  readonly server = new ApiServer({ clock: realClock, random: Math.random });
  readonly #front = new HttpFront(this.server);
  readonly dir = mkdtempSync(join(tmpdir(), 'fenceline-kubectl-'));
  readonly file: string;

  private constructor(file: string) {
    this.file = file;
  }

  static async start(): Promise<EmbeddedKubectl> {
    const made = new EmbeddedKubectl((await ensureControlPlane()).kubectl);
    const port = await made.#front.listen(0);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'embedded',
      contexts: [{ name: 'embedded', context: { cluster: 'embedded', user: 'admin' } }],
      clusters: [{ name: 'embedded', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'admin', user: {} }],
    };
    writeFileSync(made.kubeconfig, JSON.stringify(config));
    return made;
  }

  get kubeconfig(): string {
    return join(this.dir, 'kubeconfig');
  }

  run(args: string[], input?: string): Promise<KubectlResult> {
    return runKubectl({ file: this.file, dir: this.dir, kubeconfig: this.kubeconfig, args, input });
  }

  /** What it prints, where it succeeds. */
  async ok(args: string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async stop(): Promise<void> {
    await this.#front.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
