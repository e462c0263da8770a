/**
 * The TLS connections to management controllers. One for each controller is kept for a while, because a handshake takes many of
 * them longer than the answer; a question that finds it busy gets another one, which is closed afterwards: they have room for
 * few. Whom they trust is what fence agents trust.
 */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { DeviceWorld } from './device.ts';

const IDLE_MS = 30_000;
/** A controller that was cut off in silence is noticed while nobody asks. */
const PROBE_AFTER_MS = 10_000;
/** Of several machines behind one controller, some may hang and must not hold up the others. */
const AT_A_TIME = 8;
const READ_TRUST_AGAIN_MS = 60_000;

interface Known {
  connections: Agent;
  authorities: string | undefined;
  readAtMs: number;
}

export class RedfishConnections {
  readonly #trustFile: string | undefined;
  #known: Known | undefined;

  constructor(trustFile?: string) {
    this.#trustFile = trustFile;
  }

  /** Throws where the file with the authorities cannot be used. */
  open({ monotonic }: Pick<DeviceWorld, 'monotonic'>): Agent {
    const nowMs = monotonic();
    const known = this.#known;
    if (known !== undefined && nowMs - known.readAtMs < READ_TRUST_AGAIN_MS) return known.connections;
    const authorities = this.#trustFile === undefined ? undefined : readFileSync(this.#trustFile, 'utf8');
    // What was opened on the word of other authorities is not used any more, and closes when it has been idle.
    const isSame = known !== undefined && known.authorities === authorities;
    const connections = isSame ? known.connections : connectionsTrusting(authorities ?? ofTheSystem());
    this.#known = { connections, authorities, readAtMs: nowMs };
    return connections;
  }
}

/** Node's own list is another one. */
export function ofTheSystem(): string {
  return getCACertificates('system').join('\n');
}

function connectionsTrusting(ca: string): Agent {
  return new Agent({
    keepAlive: true,
    keepAliveMsecs: PROBE_AFTER_MS,
    timeout: IDLE_MS,
    maxSockets: AT_A_TIME,
    maxFreeSockets: 1,
    // Made once: each would hold all authorities in memory.
    secureContext: createSecureContext({ ca }),
  });
}
