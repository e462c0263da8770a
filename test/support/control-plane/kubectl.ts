import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlInput {
  readonly file: string;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly args: readonly string[];
  readonly input?: string | undefined;
}

/** Runs the stock kubectl. A failing command is an answer, not an error: tests look at its code. */
export async function runKubectl({ file, dir, kubeconfig, args, input }: KubectlInput): Promise<KubectlResult> {
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: dir,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: join(dir, 'kubectl-cache'),
      // Whoever edits here looks and changes nothing.
      KUBE_EDITOR: 'true',
    },
  });
  // kubectl may end without having read its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code: code ?? -1, stdout, stderr };
}
