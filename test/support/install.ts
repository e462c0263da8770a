/** Installs the product on a real API server as the README says, and in no other way (USE-1). */
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { ensureControlPlane } from '../../control-plane/build.ts';
import type { ControlPlane } from './control-plane.ts';
import { commandsOf } from './documents.ts';

/** The shell of somebody who administers that cluster: its kubeconfig, and a kubectl. */
export async function administratorOf(controlPlane: Pick<ControlPlane, 'kubeconfigPath'>): Promise<NodeJS.ProcessEnv> {
  const { kubectl } = await ensureControlPlane();
  const PATH = `${dirname(kubectl)}:${process.env['PATH']}`;
  return { ...process.env, KUBECONFIG: controlPlane.kubeconfigPath, PATH };
}

/** Types a command; answers with what it printed, or throws with it. */
export async function type(command: string, env: NodeJS.ProcessEnv, cwd = '.'): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', `set -o pipefail; ${command}`], { env, cwd });
  return `${stdout}${stderr}`;
}

/** The README's own command for the CustomResourceDefinitions, and until they are served. */
export async function installCrds(controlPlane: Pick<ControlPlane, 'kubeconfigPath'>): Promise<void> {
  const env = await install(controlPlane, 'fenceline crds');
  const ours = '$(kubectl get crds -o name | grep fenceline.dev)';
  await type(`kubectl wait --for=condition=Established --timeout=60s ${ours}`, env);
}

/** The one command of a document that is about `what`. */
export async function install(
  controlPlane: Pick<ControlPlane, 'kubeconfigPath'>,
  what: string,
  document = 'README.md',
): Promise<NodeJS.ProcessEnv> {
  const [command, ...others] = commandsOf(document).filter((line) => line.includes(what));
  if (command === undefined || others.length > 0) throw new Error(`${document} has no one command for ${what}`);
  const env = await administratorOf(controlPlane);
  await type(command, env);
  return env;
}
