/** What a machine has to have for the device tests: Debian's fence agents, and endpoints for them to talk to. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../control-plane/lock.ts';
import { ensurePackages } from '../support/debian.ts';
import { ensureVcsim } from './endpoints/vcsim.ts';

const run = promisify(execFile);

const packages = [
  { name: 'fence-agents', file: '/usr/sbin/fence_ipmilan' },
  { name: 'fence-agents', file: '/usr/libexec/fence-agents/fence_kdump_send' },
  { name: 'openipmi', file: 'ipmi_sim' },
  { name: 'ipmitool', file: 'ipmitool' },
  { name: 'snmp', file: 'snmpget' },
  { name: 'openssh-client', file: 'ssh' },
  { name: 'util-linux', file: 'setpriv' },
  // A Python without it makes environments without pip.
  { name: 'python3-venv', file: '/usr/share/python-wheels' },
] as const;

const requirements = join(import.meta.dirname, 'requirements.txt');

/** Throws, with one line why, where the devices cannot be tested. */
export async function ensureDeviceEndpoints(): Promise<void> {
  await ensureFenceAgents();
  await ensureVcsim();
}

/** As above, for those alone that are spoken to by fence agents. */
export async function ensureFenceAgents(): Promise<void> {
  if (process.platform !== 'linux') throw new Error('the fence agents need Linux');
  await ensurePackages('the device tests', packages);
  await pythonWithEndpoints();
}

/**
 * A Python with the Redfish emulator, an SSH server and an EC2, made once per machine and list of packages, and kept
 * outside the work tree.
 */
export async function pythonWithEndpoints(): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 16);
  const { FENCELINE_CACHE, XDG_CACHE_HOME } = process.env;
  const root = join(FENCELINE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'fenceline'), 'devices');
  const dir = join(root, `python-${hash}`);
  const python = join(dir, 'bin', 'python');
  if (await exists(python)) return python;
  await mkdir(root, { recursive: true });
  await withLock(`${dir}.lock`, async () => {
    if (!(await exists(python))) await install(dir);
  });
  return python;
}

async function install(dir: string): Promise<void> {
  process.stderr.write(`the device tests: installing the Python endpoints into ${dir}, once\n`);
  const unfinished = `${dir}.unfinished-${process.pid}`;
  try {
    await run('/usr/bin/python3', ['-m', 'venv', unfinished]);
    // Packages with programs to compile would need a compiler: those that are not ready-made are not wanted.
    const flags = ['--quiet', '--no-deps', '--only-binary', ':all:', '--disable-pip-version-check'];
    await run(join(unfinished, 'bin', 'python'), ['-m', 'pip', 'install', ...flags, '-r', requirements], {
      maxBuffer: 2 ** 26,
    });
    await rename(unfinished, dir);
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`pip could not install the Python endpoints: ${output.split('\n').at(-1)}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
