/** A certificate and its key, in files that are replaced while the process runs, as Secrets in a volume and cert-manager do. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Clock } from '../clock.ts';

export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

export interface CertificatePair {
  cert: string;
  key: string;
}

/** Rejects where one cannot be read, or they do not belong together. */
export async function readPair({ certFile, keyFile }: CertificateFiles): Promise<CertificatePair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error(`${keyFile} is not the key of ${certFile}`);
  }
  return { cert, key };
}

/** Not by notices of the file system: a volume is replaced by a link, on some kinds without a notice. */
const everyMs = 5000;

export interface CertificateWatchOptions {
  files: CertificateFiles;
  clock: Clock;
  onChanged: (pair: CertificatePair) => void;
  /** The one before stays in use. Told once for each problem. */
  onProblem: (problem: string) => void;
}

export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #pair: CertificatePair;
  #problem: string | undefined;
  #cancel: () => void = () => {};
  #isOver = false;

  constructor(options: CertificateWatchOptions, pair: CertificatePair) {
    this.#options = options;
    this.#pair = pair;
    this.#wait();
  }

  stop(): void {
    this.#isOver = true;
    this.#cancel();
  }

  #wait(): void {
    if (!this.#isOver) this.#cancel = this.#options.clock.after(everyMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const read = await readPair(this.#options.files).catch((error: unknown): string =>
      error instanceof Error ? error.message : String(error),
    );
    if (this.#isOver) return;
    if (typeof read === 'string') {
      // Half replaced, or wrong: known by the next look.
      if (read !== this.#problem) this.#options.onProblem(read);
      this.#problem = read;
    } else {
      this.#problem = undefined;
      if (read.cert !== this.#pair.cert || read.key !== this.#pair.key) this.#options.onChanged(read);
      this.#pair = read;
    }
    this.#wait();
  }
}
