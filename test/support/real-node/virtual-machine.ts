/**
 * A machine with a kernel of its own, under QEMU's translation: no help of the processor is needed, and a boot takes two cores for ten
 * to twenty seconds. To end its process is a loss of power: what its kernel had not written to a disk is gone. It ends with the process
 * that started it, and its network devices end with it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../wait.ts';
import { environment } from './commands.ts';
import { Conversation } from './conversation.ts';
import type { Guest } from './guest.ts';
import type { Tap } from './network.ts';

export interface MachineParts {
  name: string;
  uuid: string;
  guest: Guest;
  /** For its sockets. */
  dir: string;
  /** To which it alone writes. */
  disk: string;
  /** Of its kernel, and of QEMU. */
  log: string;
  /** Directories of this machine that it sees, by their tags. */
  shares: Readonly<Record<string, string>>;
  /** In the order in which the guest counts them, by names. */
  links: Readonly<Record<string, { tap: Tap; isUp: boolean }>>;
}

const MEMORY_MB = 1024;
const PROCESSORS = 2;
/** Boots beside others, on cores that are busy. */
const BOOT_MS = 180_000;

export class VirtualMachine {
  readonly #child: ChildProcess;
  readonly #log: string;
  #monitor: Conversation | undefined;
  #line: Conversation | undefined;
  #isListening = false;

  private constructor(child: ChildProcess, log: string) {
    this.#child = child;
    this.#log = log;
  }

  /** It boots by itself from here on. */
  static async start(parts: MachineParts): Promise<VirtualMachine> {
    const log = openSync(parts.log, 'a');
    // The rest of this machine, which the API server is on, goes first.
    const child = spawn('setpriv', ['--pdeathsig=KILL', 'nice', '-n5', 'qemu-system-x86_64', ...argumentsOf(parts)], {
      env: environment(),
      stdio: ['ignore', log, log],
      // A signal to the group of the tests must not end it before they could say what they saw.
      detached: true,
    });
    closeSync(log);
    child.unref();
    child.once('error', () => {});
    const machine = new VirtualMachine(child, parts.log);
    try {
      await machine.#begin(parts);
      return machine;
    } catch (error) {
      await machine.end();
      throw error;
    }
  }

  get running(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async end(): Promise<void> {
    if (this.running) {
      this.#child.ref();
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exited;
    }
    this.#monitor?.close();
    this.#line?.close();
  }

  /** Its processors stand still. */
  async pause(): Promise<void> {
    await this.#execute('stop');
  }

  async resume(): Promise<void> {
    await this.#execute('cont');
  }

  async setLink(name: string, up: boolean): Promise<void> {
    await this.#execute('set_link', { name, up });
  }

  /** In the guest, as soon as that listens; answers what it said, and throws it if it did not end well. */
  async run(shell: string): Promise<string> {
    await waitFor('the guest to listen', () => this.#isListening || !this.running, { timeoutMs: BOOT_MS });
    if (this.#line === undefined) throw new Error('the machine is off');
    const answer = await this.#line.ask(Buffer.from(shell).toString('base64'));
    const [code, said = ''] = answer.split(' ');
    const text = Buffer.from(said, 'base64').toString();
    if (code !== '0') throw new Error(`${shell}: ${text}`);
    return text;
  }

  async #begin({ dir, links }: MachineParts): Promise<void> {
    const monitor = await waitFor('QEMU to listen', async () =>
      this.running ? Conversation.open(join(dir, 'monitor'), isNews) : 'ended',
    );
    if (monitor === 'ended') throw new Error(`QEMU ended:\n${(await readFile(this.#log, 'utf8')).slice(-4000)}`);
    this.#monitor = monitor;
    await this.#execute('qmp_capabilities');
    for (const [name, { tap, isUp }] of Object.entries(links)) {
      await tap.join();
      if (!isUp) await this.setLink(name, false);
    }
    this.#line = await Conversation.open(join(dir, 'line'), (said) => {
      if (said === 'ready') this.#isListening = true;
      return said === 'ready';
    });
    await this.#execute('cont');
  }

  async #execute(execute: string, args: object = {}): Promise<void> {
    if (this.#monitor === undefined) throw new Error('the machine is off');
    const answer = await this.#monitor.ask(JSON.stringify({ execute, arguments: args }));
    const { error } = JSON.parse(answer) as { error?: { desc: string } };
    if (error !== undefined) throw new Error(`${execute}: ${error.desc}`);
  }
}

/** Its greeting, and events. */
function isNews(line: string): boolean {
  const said = JSON.parse(line) as object;
  return !('return' in said || 'error' in said);
}

function argumentsOf({ name, uuid, guest, dir, disk, log, shares, links }: MachineParts): string[] {
  const socket = (id: string): string => `socket,id=${id},path=${join(dir, id)},server=on,wait=off`;
  const options = [
    ['-name', name],
    ['-uuid', uuid],
    ['-machine', 'q35'],
    ['-accel', 'tcg,thread=multi'],
    ['-cpu', 'max'],
    ['-smp', `${PROCESSORS}`],
    ['-m', `${MEMORY_MB}`],
    ['-display', 'none'],
    ['-kernel', guest.kernel],
    ['-initrd', guest.initramfs],
    ['-append', 'console=ttyS0 quiet net.ifnames=0'],
    ['-chardev', `file,id=console,path=${log},append=on`],
    ['-serial', 'chardev:console'],
    ['-chardev', socket('line')],
    ['-serial', 'chardev:line'],
    ['-chardev', socket('monitor')],
    ['-mon', 'chardev=monitor,mode=control'],
    ['-drive', `file=${guest.root},if=virtio,format=raw,readonly=on`],
    // What the guest has written is in the memory of this machine, which keeps it: only the guest loses power.
    ['-drive', `file=${disk},if=virtio,format=raw,cache=unsafe`],
    ...Object.entries(shares).map(([tag, path]) => [
      '-virtfs',
      `local,path=${path},mount_tag=${tag},security_model=none`,
    ]),
    ...Object.entries(links).flatMap(([id, { tap }]) => [
      ['-netdev', `tap,id=${id},ifname=${tap.name},script=no,downscript=no`],
      ['-device', `virtio-net-pci,netdev=${id},mac=${tap.hardware}`],
    ]),
  ];
  // It waits until its cables are in.
  return ['-nodefaults', '-no-user-config', '-S', ...options.flat()];
}
