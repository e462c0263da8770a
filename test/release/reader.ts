/**
 * Somebody who does what a document says, from top to bottom, on a cluster that they administer: types its commands, writes its YAML,
 * and puts addresses and credentials of their own in the place of those of the example.
 */
import assert from 'node:assert/strict';
import { parse } from 'yaml';
import type { Fleet } from '../../src/world/fleet.ts';
import { stepsOf, type Step } from '../support/documents.ts';
import { type } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { wireBmc, type WiredBmc } from './wiring.ts';
import { systemUuidOf } from './world.ts';

/** Where the reader stops to look. */
export interface Station {
  /** The step that it is about, by a part of it. */
  at: string;
  /** What happens in the cluster before it. */
  before?: () => Promise<unknown>;
  /** What has come of it, beyond that it went well. */
  look: (said: string) => unknown;
}

export class Reader implements AsyncDisposable {
  readonly env: NodeJS.ProcessEnv;
  readonly #bmcs = new Map<string, WiredBmc>();
  readonly #own: (readonly [from: string, to: string])[] = [];
  readonly #flags: readonly string[];
  #operator: OperatorProcess | undefined;

  /** `flags`: what the operator is started with beside those of the document. */
  constructor(env: NodeJS.ProcessEnv, flags: readonly string[] = []) {
    this.env = env;
    this.#flags = flags;
  }

  /** Gives each machine a BMC; the n-th one has the n-th address of the examples. */
  async wire(fleet: Fleet, names: readonly string[]): Promise<void> {
    for (const [index, name] of names.entries()) {
      const bmc = await wireBmc(fleet.machine(name), { systemUuid: systemUuidOf(name) });
      this.#bmcs.set(name, bmc);
      const { ip, ipport, cipher } = bmc.plain;
      this.#own.push([`bmc=192.0.2.1${index + 1}`, `"bmc=${ip}\\nport=${ipport}"`]);
      if (index > 0) continue;
      this.#own.push(['ip={{bmc}}', `ip={{bmc}}\n    ipport={{port}}\n    cipher=${cipher}`]);
      this.#own.push(['change-me', bmc.secret['password'] ?? '']);
    }
  }

  bmc(name: string): WiredBmc {
    const bmc = this.#bmcs.get(name);
    assert.ok(bmc, `${name} has no BMC`);
    return bmc;
  }

  type(command: string): Promise<string> {
    return type(command, this.env);
  }

  /** Every step of the document is done, and somebody looks at what comes of it. */
  async walk(document: string, stations: readonly Station[]): Promise<void> {
    const left = [...stations];
    const beganMs = performance.now();
    for (const step of stepsOf(document)) {
      const [title = ''] = step.text.split('\n', 1);
      const station = left.shift();
      assert.ok(station && step.text.includes(station.at), `${document}: nobody looks at ${title}`);
      try {
        await station.before?.();
        await station.look(await this.do(step));
      } catch (error) {
        const status = await this.type('bin/fenceline status').catch(String);
        throw new Error(`${document}: ${title}\n${status}`, { cause: error });
      }
    }
    assert.deepEqual(
      left.map(({ at }) => at),
      [],
      `${document} has no such steps`,
    );
    console.log(`# ${document}: ${((performance.now() - beganMs) / 1000).toFixed(0)} s`);
  }

  /** Answers with what was printed. */
  async do({ language, text }: Step): Promise<string> {
    if (language === 'yaml') return this.#amend(text);
    if (text.startsWith('bin/fenceline run ')) return this.#run(text);
    // Who is asked for the name of the node types it; a program that nobody sits at is not asked.
    if (text.startsWith('bin/fenceline drill ')) return this.type(`echo worker-1 | script -qec '${text}' /dev/null`);
    return this.type(text.includes('192.0.2.') && text.includes('kind: Secret') ? this.#withOwn(text) : text);
  }

  #withOwn(text: string): string {
    assert.deepEqual(
      this.#own.map(([from]) => from).filter((from) => !text.includes(from)),
      [],
    );
    return this.#own.reduce((replaced, [from, to]) => replaced.replace(from, to), text);
  }

  /** What is part of a spec is written into that of the policy at hand. */
  #amend(text: string): Promise<string> {
    const patch = JSON.stringify({ spec: parse(text) as object });
    return this.type(`kubectl patch remedypolicy workers --type=merge -p '${patch}'`);
  }

  /** The operator stands still, or goes on. */
  operator(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#operator?.signal(signal);
  }

  async #run(command: string): Promise<string> {
    const [, , ...args] = command.split(' ');
    if (this.#operator !== undefined) assert.equal(await this.#operator.stop(), 0);
    // The later --bind-address wins: the port of the document may be taken on this machine.
    this.#operator = new OperatorProcess([...args, '--bind-address', '127.0.0.1:0', ...this.#flags], this.env);
    await this.#operator.said('leading', ({ msg }) => msg === 'leading');
    return '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    for (const bmc of this.#bmcs.values()) await bmc.close();
  }
}
