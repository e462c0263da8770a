/** Stands in front of the API server, and answers as one whose clock is off: everything is as it is, but for the Date. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import type { ControlPlane } from './control-plane.ts';

export class DatedProxy implements AsyncDisposable {
  /** By how much its clock is ahead. */
  aheadMs = 0;
  readonly #server: Server;
  readonly #controlPlane: ControlPlane;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    const { certPem, keyPem } = controlPlane.servingCertificate();
    this.#server = createServer({ cert: certPem, key: keyPem }, (asked, response) => this.#forward(asked, response));
  }

  static async start(controlPlane: ControlPlane): Promise<DatedProxy> {
    const proxy = new DatedProxy(controlPlane);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  #forward(asked: IncomingMessage, response: ServerResponse): void {
    const { method, url: path, headers } = asked;
    const { url, caCert: ca } = this.#controlPlane;
    const forwarded = request(new URL(path ?? '/', url), { method, headers, ca, agent: this.#agent }, (answer) => {
      const { statusCode = 502, headers: own } = answer;
      response.writeHead(statusCode, { ...own, date: new Date(Date.now() + this.aheadMs).toUTCString() });
      // A watch that nothing happens in has begun all the same.
      response.flushHeaders();
      pipeline(answer, response, () => {});
    });
    pipeline(asked, forwarded, () => {});
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
  }
}
