/** /metrics by TLS, for those alone whom the API server lets read it. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Log } from '../report/log.ts';
import type { Answer, ServerBounds } from './bounded-server.ts';
import { BoundedServer } from './bounded-server.ts';
import type { CertificateFiles } from './certificate.ts';
import { CertificateWatch, readPair } from './certificate.ts';
import { metricsAnswer, pathOf, wrongMethod } from './health-server.ts';
import { Reviews, type Verdict } from './reviews.ts';

export interface MetricsDoor extends CertificateFiles {
  bind: { host?: string; port: number };
}

export interface MetricsServerOptions {
  client: Pick<KubeClient, 'create'>;
  clock: Clock;
  log: Pick<Log, 'info' | 'warn'>;
  door: MetricsDoor;
  metrics: () => Buffer;
  bounds?: Partial<ServerBounds>;
}

/** Tokens of identity providers that name many groups are long. */
const headerBytes = 16_384;

const refusals: Record<Exclude<Verdict, 'allowed'>, Answer> = {
  unauthenticated: {
    status: 401,
    text: 'a bearer token that the API server knows is needed\n',
    headers: { 'www-authenticate': 'Bearer' },
  },
  forbidden: { status: 403, text: 'the right to get the path /metrics is needed\n' },
  unknown: { status: 503, text: 'whether you may read this is not known now\n', headers: { 'retry-after': '5' } },
};

export class MetricsServer {
  readonly #options: MetricsServerOptions;
  readonly #reviews: Reviews;
  #server: BoundedServer | undefined;
  #certificate: CertificateWatch | undefined;

  constructor(options: MetricsServerOptions) {
    this.#options = options;
    const { client, clock, log } = options;
    const toDo = 'kubectl apply -f deploy/metrics-role.yaml';
    this.#reviews = new Reviews({
      client,
      clock,
      onProblem: ({ kind, message }) =>
        log.warn(
          { problem: message, ...(kind === 'forbidden' && { toDo }) },
          'who may read metrics is not known: nobody may',
        ),
    });
  }

  /** Answers the port; rejects if the address is taken or the certificate cannot be used. */
  async listen(): Promise<number> {
    const { clock, log, door, bounds } = this.#options;
    const pair = await readPair(door);
    const server = new BoundedServer({
      clock,
      bounds: { headerBytes, ...bounds },
      tls: pair,
      answer: (request) => this.#answer(request),
    });
    const port = await server.listen(door.bind);
    this.#server = server;
    this.#certificate = new CertificateWatch(
      {
        files: door,
        clock,
        onChanged: (changed) => {
          server.useCertificate(changed);
          log.info({ certificate: door.certFile }, 'the certificate of metrics has changed');
        },
        onProblem: (problem) => log.warn({ problem }, 'the new certificate of metrics is not used'),
      },
      pair,
    );
    return port;
  }

  async close(): Promise<void> {
    this.#certificate?.stop();
    await this.#server?.close();
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const wrong = wrongMethod(request);
    if (wrong !== undefined) return wrong;
    if (pathOf(request) !== '/metrics') return { status: 404, text: 'there is /metrics\n' };
    const [, token] = /^Bearer +([\w.~+/=-]+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (token === undefined) return refusals.unauthenticated;
    const verdict = await this.#reviews.mayRead(token, request.socket.remoteAddress ?? '');
    return verdict === 'allowed' ? metricsAnswer(this.#options.metrics()) : refusals[verdict];
  }
}
