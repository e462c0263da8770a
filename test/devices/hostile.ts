/**
 * What somebody would write who wants a fence agent to do more than it should: values that name a program, an option or a
 * file, each of them a canary. Whether one was touched is seen without the agents' help: the program leaves a mark, the file
 * that would be written is there, and the one that would be read is a pipe at whose other end we wait.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const lookEveryMs = 10;

export class Canaries {
  readonly dir: string;
  readonly #touched = new Set<string>();
  readonly #watch: NodeJS.Timeout;

  private constructor(dir: string) {
    this.dir = dir;
    this.#watch = setInterval(() => this.#look(), lookEveryMs);
  }

  static async open(): Promise<Canaries> {
    const dir = await mkdtemp(join(tmpdir(), 'fenceline-hostile-'));
    const program = join(dir, 'program');
    await writeFile(program, `#!/bin/sh\n: >'${join(dir, 'ran')}'\n`);
    await chmod(program, 0o755);
    await promisify(execFile)('mkfifo', [join(dir, 'read')]);
    return new Canaries(dir);
  }

  /** By what each of them is to bring about. */
  get values(): readonly string[] {
    const [program, read, made] = ['program', 'read', 'made'].map((name) => join(this.dir, name));
    return [
      `${program}`,
      `${read}`,
      `${made}`,
      `admin -oProxyCommand=${program} x`,
      `-oProxyCommand=${program}`,
      `admin -E ${made} x`,
      `-E${made}`,
      `1 -F ${read}`,
      `1,-i${read}`,
      `1;${program}`,
      `1&${program}`,
      `1|${program}`,
      `$(${program})`,
      `\`${program}\``,
      `1' ${program} '`,
      `1" ${program} "`,
      `!${program}`,
      `~!${program}`,
      `1 >${made}`,
      `1\nssh_path=${program}`,
      `1\rtelnet_path=${program}`,
      `1\u2028ssh_path=${program}`,
      `../../../..${program}`,
      `@127.0.0.1/${program}`,
      `file://${read}`,
      '-v',
      '--help',
      '.*',
      '*',
    ];
  }

  /** What has been touched since the last time: `program`, `read`, `made`. */
  touched(): string[] {
    this.#look();
    const found = [...this.#touched];
    this.#touched.clear();
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#watch);
    await rm(this.dir, { recursive: true, force: true });
  }

  #look(): void {
    for (const [name, what] of [
      ['ran', 'program'],
      ['made', 'made'],
    ] as const) {
      if (!existsSync(join(this.dir, name))) continue;
      this.#touched.add(what);
      rmSync(join(this.dir, name), { recursive: true, force: true });
    }
    try {
      // Opens only while somebody reads.
      closeSync(openSync(join(this.dir, 'read'), constants.O_WRONLY | constants.O_NONBLOCK));
      this.#touched.add('read');
    } catch {
      // Nobody does.
    }
  }
}

/** Agents behind a door of ours, which writes down what goes through. */
export class Doors {
  readonly directory: string;
  readonly #log: string;

  private constructor(directory: string) {
    this.directory = directory;
    this.#log = join(directory, 'log');
  }

  static async open(agents: readonly string[], from: string): Promise<Doors> {
    const doors = new Doors(await mkdtemp(join(tmpdir(), 'fenceline-doors-')));
    await symlink(from, join(doors.directory, 'agents'));
    for (const agent of agents) {
      const file = join(doors.directory, agent);
      await writeFile(file, `#!/bin/sh\ntee -a '${doors.#log}' | '${doors.directory}/agents/${agent}'\n`);
      await chmod(file, 0o755);
    }
    await doors.written();
    return doors;
  }

  /** What agents were given since the last time. */
  async written(): Promise<string> {
    const text = await readFile(this.#log, 'utf8').catch(() => '');
    await writeFile(this.#log, '');
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

/**
 * A device that asks for name and password and then hangs up, so that whatever the agent types next is read by its own
 * program: telnet is at its prompt again.
 */
export async function rudeDevice(): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write('login: ');
    socket.once('data', () => socket.end('\r\nPassword: '));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, server };
}
