/**
 * Keeps passes as files: each case with its decision as one line of JSON, so that a bug report is a file and a decision can be
 * made again (`fenceline replay`). Bounded: the oldest file goes when there are too many. No credential is in a case; what a
 * ConfigMap calls a password all the same is left out (S28).
 */
import { appendFileSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isSecretName } from '../devices/agent-metadata.ts';
import type { Pass } from '../report/pass.ts';

const form = /^passes-(\d{6,12})\.jsonl$/;
const hidden = '[hidden]';
/** Names that clouds and people have for what agents call a password. */
const isKeyring = /credential|passphrase|pwd$|(?:^|_)(?:pass|key)$/i;

export interface TraceLimits {
  fileBytes: number;
  files: number;
}

const defaultLimits: TraceLimits = { fileBytes: 16 * 1024 * 1024, files: 4 };

export class PassTrace {
  readonly #dir: string;
  readonly #limits: TraceLimits;
  readonly #onProblem: (error: Error) => void;
  #number: number;
  #bytes: number;
  #isBroken = false;

  /** `onProblem`: it cannot be written, as on a disk that is full; told once, until it can be again. */
  constructor(dir: string, onProblem: (error: Error) => void, limits: TraceLimits = defaultLimits) {
    this.#dir = dir;
    this.#limits = limits;
    this.#onProblem = onProblem;
    mkdirSync(dir, { recursive: true });
    this.#number = Math.max(1, ...this.#numbers());
    this.#bytes = statSync(this.#file(this.#number), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Whoever attends to nodes goes on, whether or not somebody can read about it later. */
  keep(pass: Pick<Pass, 'nodeCase' | 'decision'>): void {
    try {
      this.#append(pass);
      this.#isBroken = false;
    } catch (error) {
      if (!this.#isBroken) this.#onProblem(error instanceof Error ? error : new Error(String(error)));
      this.#isBroken = true;
    }
  }

  #append({ nodeCase, decision }: Pick<Pass, 'nodeCase' | 'decision'>): void {
    const line = `${passLine({ nodeCase, decision })}\n`;
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#limits.fileBytes) {
      this.#number += 1;
      this.#bytes = 0;
      for (const old of this.#numbers())
        if (old <= this.#number - this.#limits.files) rmSync(this.#file(old), { force: true });
    }
    appendFileSync(this.#file(this.#number), line, { mode: 0o600 });
    this.#bytes += bytes;
  }

  #file(number: number): string {
    return join(this.#dir, `passes-${String(number).padStart(6, '0')}.jsonl`);
  }

  #numbers(): number[] {
    return readdirSync(this.#dir).flatMap((name) => {
      const digits = form.exec(name)?.[1];
      return digits === undefined ? [] : [Number(digits)];
    });
  }
}

export function passLine({ nodeCase, decision }: Pick<Pass, 'nodeCase' | 'decision'>): string {
  return JSON.stringify({ case: nodeCase, decision }, (key, value: unknown) =>
    key === 'parameters' && typeof value === 'object' && value !== null ? withoutSecrets(value) : value,
  );
}

/** Of a device. Elsewhere names are those of labels, remedies and the like, on whose values decisions rest. */
function withoutSecrets(parameters: object): object {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]: [string, unknown]) => [
      name,
      isSecretName(name) || isKeyring.test(name) ? hidden : value,
    ]),
  );
}
