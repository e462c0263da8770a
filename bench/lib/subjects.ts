/** The programs that do the same job side by side: know every Node and its Lease, and notice who stops renewing. */
import { join } from 'node:path';
import { bundle, nodeEnv, nodeFlags } from '../../build/bundle.ts';
import { ensureBundledPeer, ensureGoPeer } from './packages.ts';
import { resultsDir, root } from './report.ts';
import type { Subject } from './run-subject.ts';

export interface Tuning {
  /** For Node itself. */
  flags?: string[];
  env?: Readonly<Record<string, string>>;
}

const shipped: Tuning = { flags: [...nodeFlags], env: nodeEnv };

/** As it is shipped, unless told otherwise. */
export async function bundledOperator(name = 'Fenceline', tuning: Tuning = shipped): Promise<Subject> {
  return operator(name, await bundled(), tuning);
}

/** That of another tree of the project, an earlier one for instance, as it is shipped there. */
export async function operatorOfTree(tree: string): Promise<Subject> {
  const built = (await import(join(tree, 'build', 'bundle.ts'))) as typeof import('../../build/bundle.ts');
  const program = await built.bundle(join(resultsDir, 'bundle-of-other-tree'));
  return operator(`Fenceline of ${tree}`, program, { flags: [...built.nodeFlags], env: built.nodeEnv });
}

export function operatorFromSource(name = 'Fenceline from source'): Subject {
  return operator(name, join(root, 'src', 'cli', 'main.ts'), { flags: ['--disable-warning=ExperimentalWarning'] });
}

/** As anybody would start it, and with the settings that we give ourselves. */
export async function clientNodeInformers(settings: 'stock' | 'ours'): Promise<Subject> {
  const program = await ensureBundledPeer('client-node', 'informers.mjs');
  return {
    name: settings === 'stock' ? 'client-node informers' : 'client-node, our settings',
    command: (kubeconfig) => ({
      file: process.execPath,
      args: settings === 'stock' ? [program, kubeconfig] : [...nodeFlags, program, kubeconfig],
      env: settings === 'stock' ? {} : nodeEnv,
    }),
    synced: (line) => line.startsWith('synced'),
  };
}

export async function clientGoInformers(): Promise<Subject> {
  const program = await ensureGoPeer('client-go');
  return {
    name: 'client-go informers',
    command: (kubeconfig) => ({ file: program, args: [kubeconfig] }),
    synced: (line) => line.startsWith('synced'),
  };
}

let entry: Promise<string> | undefined;

/** Once per run, and apart from the bundle that somebody may be using. */
function bundled(): Promise<string> {
  entry ??= bundle(join(resultsDir, 'bundle'));
  return entry;
}

function operator(name: string, program: string, { flags = [], env = {} }: Tuning): Subject {
  return {
    name,
    command: (kubeconfig) => ({
      file: process.execPath,
      args: [
        ...flags,
        program,
        'run',
        `--kubeconfig=${kubeconfig}`,
        '--bind-address=127.0.0.1:0',
        '--leader-elect-namespace=default',
        // One after the other under the same name: each would wait for its predecessor's term to run out.
        `--leader-elect-name=bench-${process.pid}-${Math.random().toString(36).slice(2, 8)}`,
      ],
      env,
    }),
    synced: (line) => line.includes('"views are complete"'),
    port: (line) => (line.includes('"started"') ? (JSON.parse(line) as { port: number }).port : undefined),
  };
}
