/**
 * Credentials from a program: `users[].user.exec` of a kubeconfig, as cloud providers and single sign-on use it.
 *
 * What the program prints is a credential. It, the program's arguments and its environment never reach an error or a
 * log (S28); what the program says on stderr is meant for the user and goes there.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join, sep } from 'node:path';
import type { Clock } from '../clock.ts';
import {
  bearer,
  checkKeyPair,
  type Credential,
  CredentialError,
  type CredentialSource,
  errorCode,
} from './credentials.ts';

export const execApiVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;
export const interactiveModes = ['Never', 'IfAvailable', 'Always'] as const;

export interface ExecConfig {
  apiVersion: (typeof execApiVersions)[number];
  /** Absolute, or a name to be found in PATH. */
  command: string;
  args: string[];
  env: Record<string, string>;
  installHint?: string;
  interactiveMode: (typeof interactiveModes)[number];
  /** Given to the program if it asked for it by provideClusterInfo. */
  cluster?: ExecCluster;
  /** Names the entry in errors. */
  where: string;
}

/** As the program reads it in KUBERNETES_EXEC_INFO. */
export interface ExecCluster {
  server: string;
  'tls-server-name'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'certificate-authority-data'?: string;
  'proxy-url'?: string;
  'disable-compression'?: boolean;
  config: unknown;
}

export interface ExecHost {
  clock: Clock;
  env: Record<string, string | undefined>;
  stdinIsTerminal: boolean;
  /** Where the program's stderr goes; absent: to our own. */
  stderr?: NodeJS.WritableStream;
  /** Absent: long where a person may have to log in, else a minute. */
  timeoutMs?: number;
}

const unattendedTimeoutMs = 60_000;
const attendedTimeoutMs = 600_000;
const killAfterMs = 2_000;
const maxOutputBytes = 1_048_576;
const maxLeewayMs = 60_000;

interface Obtained {
  credential: Credential;
  /** Wall clock. */
  expiresAt: number;
  refreshAt: number;
}

export function execCredential(config: ExecConfig, host: ExecHost): CredentialSource {
  let last: Obtained | undefined;
  let running: Promise<Credential> | undefined;

  const refresh = async (): Promise<Credential> => {
    const previous = last;
    try {
      last = await obtain(config, host);
      return last.credential;
    } catch (error) {
      // Asked ahead of time: what we have is good until its end.
      if (previous && previous === last && host.clock.now() < previous.expiresAt) {
        last = { ...previous, refreshAt: previous.expiresAt };
        return previous.credential;
      }
      throw error;
    }
  };

  return {
    async current() {
      if (last && host.clock.now() < last.refreshAt) return last.credential;
      // The program may ask a person to log in: however many callers wait, it runs once.
      running ??= refresh().finally(() => {
        running = undefined;
      });
      return running;
    },
    rejected(given) {
      if (given === undefined || given === last?.credential) last = undefined;
    },
  };
}

async function obtain(config: ExecConfig, host: ExecHost): Promise<Obtained> {
  const interactive = isInteractive(config, host);
  const info = JSON.stringify({
    kind: 'ExecCredential',
    apiVersion: config.apiVersion,
    spec: { ...(config.cluster && { cluster: config.cluster }), interactive },
  });
  const command = await findCommand(config, host.env);
  const env = { ...host.env, ...config.env, KUBERNETES_EXEC_INFO: info };
  const child = spawn(command, config.args, {
    env,
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', host.stderr ? 'pipe' : 'inherit'],
    windowsHide: true,
  });
  if (host.stderr) child.stderr?.pipe(host.stderr, { end: false });
  const output = await outputOf(child, config, host);
  return interpret(await parseOutput(output, config.where), config, host.clock.now());
}

function isInteractive({ interactiveMode, where, command }: ExecConfig, host: ExecHost): boolean {
  if (interactiveMode === 'Always' && !host.stdinIsTerminal) {
    throw new CredentialError(
      `${where}: exec plugin ${command} has interactiveMode Always, but standard input is not a terminal`,
    );
  }
  return interactiveMode !== 'Never' && host.stdinIsTerminal;
}

/** Looked up in our PATH, not in the one that the entry's `env` may set for the program. */
async function findCommand(config: ExecConfig, env: ExecHost['env']): Promise<string> {
  const { command, where, installHint } = config;
  const candidates = command.includes(sep)
    ? [command]
    : (env['PATH'] ?? '')
        .split(delimiter)
        .filter((directory) => directory !== '')
        .map((directory) => join(directory, command));
  let forbidden = false;
  for (const candidate of candidates) {
    try {
      await access(candidate, constants.X_OK);
      return candidate;
    } catch (error) {
      if (errorCode(error) === 'EACCES') forbidden = true;
    }
  }
  const problem = forbidden ? 'may not be executed' : 'was not found';
  const place = command.includes(sep) ? '' : ' in PATH';
  const hint = installHint === undefined ? '' : `\n\n${printable(installHint)}`;
  throw new CredentialError(`${where}: exec plugin ${command} ${problem}${place}${hint}`);
}

/** A kubeconfig from elsewhere must not steer the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{C}\t\n\r]/gu, (char) => `U+${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
}

function outputOf(child: ChildProcess, config: ExecConfig, host: ExecHost): Promise<string> {
  const { where, command } = config;
  const timeoutMs = host.timeoutMs ?? (host.stdinIsTerminal ? attendedTimeoutMs : unattendedTimeoutMs);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const fail = (problem: string): void => {
      cancelTimeout();
      child.stdout?.destroy();
      reject(new CredentialError(`${where}: exec plugin ${command} ${problem}`));
    };
    const stop = (problem: string): void => {
      child.kill('SIGTERM');
      const cancelKill = host.clock.after(killAfterMs, () => void child.kill('SIGKILL'));
      child.once('exit', cancelKill);
      fail(problem);
    };
    const cancelTimeout = host.clock.after(timeoutMs, () => stop(`did not finish within ${timeoutMs / 1000} s`));
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxOutputBytes) stop('printed more than 1 MiB');
      else chunks.push(chunk);
    });
    child.once('error', (error) => fail(`could not be started (${errorCode(error)})`));
    child.once('close', (code, signal) => {
      cancelTimeout();
      if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'));
      else fail(signal ? `was ended by ${signal}` : `failed with exit code ${code}`);
    });
  });
}

/** Programs print JSON; client-go also takes YAML, and some scripts rely on it. */
async function parseOutput(output: string, where: string): Promise<unknown> {
  try {
    return JSON.parse(output);
  } catch {
    try {
      const { parse } = await import('yaml');
      return parse(output, { prettyErrors: false, logLevel: 'error' });
    } catch {
      throw new CredentialError(`${where}: what the exec plugin printed is not JSON`);
    }
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function interpret(output: unknown, config: ExecConfig, now: number): Obtained {
  const where = `${config.where}: exec plugin ${config.command}`;
  const { kind, apiVersion, status } = fieldsOf(output);
  if (kind !== 'ExecCredential') throw new CredentialError(`${where} printed something other than an ExecCredential`);
  if (apiVersion !== config.apiVersion) {
    const printed = execApiVersions.find((version) => version === apiVersion) ?? 'another one';
    throw new CredentialError(`${where} is configured for ${config.apiVersion}, but printed ${printed}`);
  }
  if (typeof status !== 'object' || status === null) throw new CredentialError(`${where} printed no status`);
  const text = (name: string): string => {
    const value = fieldsOf(status)[name] ?? '';
    if (typeof value !== 'string') throw new CredentialError(`${where}: status.${name} is not a string`);
    return value;
  };
  const token = text('token');
  const cert = text('clientCertificateData');
  const key = text('clientKeyData');
  if ((cert === '') !== (key === '')) {
    throw new CredentialError(`${where} printed only one of clientCertificateData and clientKeyData`);
  }
  if (token === '' && cert === '') throw new CredentialError(`${where} printed neither a token nor a certificate`);
  const credential: Credential = {};
  if (token !== '') credential.authorization = bearer(token, where);
  if (cert !== '') {
    checkKeyPair({ cert, key }, where);
    credential.clientCertificate = { cert, key };
  }
  return { credential, ...validity(text('expirationTimestamp'), where, now) };
}

/** Renewed a little ahead, so that a request does not arrive with a credential that ended on the way. */
function validity(expiration: string, where: string, now: number): { expiresAt: number; refreshAt: number } {
  if (expiration === '') return { expiresAt: Infinity, refreshAt: Infinity };
  const expiresAt = /^\d{4}-\d\d-\d\dT/i.test(expiration) ? Date.parse(expiration) : Number.NaN;
  if (Number.isNaN(expiresAt))
    throw new CredentialError(`${where}: status.expirationTimestamp is not a time (RFC 3339)`);
  return { expiresAt, refreshAt: expiresAt - Math.min(maxLeewayMs, Math.max(0, expiresAt - now) / 10) };
}
