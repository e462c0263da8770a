/** What endpoints are built from: a directory, ports, processes, and one call that ends all of it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '../../../src/clock.ts';
import { agentDriver, defaultAgentSettings, readMetadata, type AgentSettings } from '../../../src/devices/agent.ts';
import type { Device, DeviceParameters } from '../../../src/devices/device.ts';
import { searchPath } from '../../support/debian.ts';

export class Workshop {
  readonly dir: string;
  readonly #children: ChildProcess[] = [];
  readonly #undo: (() => Promise<unknown> | void)[] = [];

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async open(): Promise<Workshop> {
    return new Workshop(await mkdtemp(join(tmpdir(), 'fenceline-device-')));
  }

  /** Runs `build`; if that fails, what it started is ended. */
  static async build<T>(build: (workshop: Workshop) => Promise<T>): Promise<T> {
    const workshop = await Workshop.open();
    try {
      return await build(workshop);
    } catch (error) {
      await workshop.close();
      throw error;
    }
  }

  /** Starts a program that ends with this process, even when that is killed. */
  start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...args], {
      cwd: this.dir,
      env: { ...process.env, PATH: searchPath().join(':'), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#children.push(child);
    return child;
  }

  onClose(undo: () => Promise<unknown> | void): void {
    this.#undo.push(undo);
  }

  async close(): Promise<void> {
    for (const undo of this.#undo.splice(0).toReversed()) await undo();
    for (const child of this.#children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      // What it started may still hold them.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    }
    await rm(this.dir, { recursive: true, force: true });
  }
}

export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** A port that was free a moment ago. */
export async function freePort(kind: 'tcp' | 'udp'): Promise<number> {
  if (kind === 'udp') {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    socket.close();
    await once(socket, 'close');
    return port;
  }
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

/** At a port of its choice, until the workshop closes: also who is being answered then is let go of. */
export async function listen(workshop: Workshop, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  workshop.onClose(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return portOf(server);
}

function portOf(server: { address(): AddressInfo | string | null }): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Devices of the real fence agent of this name, their parameters checked as the product checks them. */
export async function agentDevices(
  agent: string,
): Promise<(parameters: DeviceParameters, settings?: Partial<AgentSettings>) => Device> {
  const metadata = await readMetadata(agent, defaultAgentSettings, realClock);
  if (typeof metadata === 'string') throw new Error(metadata);
  return (parameters, settings = {}) => {
    const driver = agentDriver(agent, metadata, { ...defaultAgentSettings, ...settings });
    const problems = driver.check(parameters);
    if (problems.length > 0) throw new Error(problems.map(({ key, problem }) => `${key}: ${problem}`).join('; '));
    return driver.device(parameters, realClock);
  };
}
