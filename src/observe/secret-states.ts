/** Whether Secrets are there, without ever reading what is in them. */
import type { Clock } from '../clock.ts';
import { inTurns } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { secrets } from '../kube/resources.ts';

export interface SecretStatesOptions {
  client: KubeClient;
  clock: Clock;
  namespace: string;
  /** For how long a Secret that was there is taken to be there. */
  knownForMs: number;
}

type SecretState = { kind: 'there' } | { kind: 'missing' } | { kind: 'unknown'; why: string };

const callTimeoutMs = 10_000;
const atATime = 8;

export class SecretStates {
  readonly #options: SecretStatesOptions;
  /** When each Secret was last seen to be there. */
  readonly #there = new Map<string, number>();

  constructor(options: SecretStatesOptions) {
    this.#options = options;
  }

  /** Of these; the others are forgotten. */
  async of(names: ReadonlySet<string>): Promise<Map<string, SecretState>> {
    const states = new Map<string, SecretState>();
    for (const name of this.#there.keys()) if (!names.has(name)) this.#there.delete(name);
    await inTurns([...names], atATime, async (name) => states.set(name, await this.#stateOf(name)));
    return states;
  }

  async #stateOf(name: string): Promise<SecretState> {
    const { client, clock, namespace, knownForMs } = this.#options;
    const seenMs = this.#there.get(name);
    if (seenMs !== undefined && clock.monotonic() - seenMs < knownForMs) return { kind: 'there' };
    const read = await client.get(
      { resource: secrets, namespace, name },
      { timeoutMs: callTimeoutMs, metadataOnly: true },
    );
    if (read.ok) this.#there.set(name, clock.monotonic());
    else this.#there.delete(name);
    if (read.ok) return { kind: 'there' };
    return read.error.kind === 'notFound' ? { kind: 'missing' } : { kind: 'unknown', why: read.error.message };
  }
}
