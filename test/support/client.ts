/** Clients of a control plane under test, over the product's own transport. */
import { realClock } from '../../src/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { Connection } from '../../src/kube/credentials.ts';
import type { Protocol } from '../../src/kube/dial.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { ControlPlane } from './control-plane.ts';

export interface ClientOptions {
  /** Default: admin. */
  user?: string;
  /** Instead of the server's own address: a proxy that forwards to it. */
  port?: number;
  protocols?: Protocol[];
  userAgent?: string;
  timeoutMs?: number;
}

export function connectionTo(controlPlane: ControlPlane, options: ClientOptions = {}): Connection {
  const credential = { authorization: `Bearer ${controlPlane.tokenOf(options.user ?? 'admin')}` };
  return {
    endpoint: {
      url: new URL(options.port === undefined ? controlPlane.url : `https://127.0.0.1:${options.port}`),
      ca: controlPlane.caCert,
      insecureSkipTlsVerify: false,
    },
    credentials: { current: () => Promise.resolve(credential), rejected: () => {} },
    impersonation: {},
    namespace: 'default',
    contextName: 'test',
  };
}

/** Close it when done: an open connection keeps the process alive. */
export function clientFor(controlPlane: ControlPlane, options: ClientOptions = {}): KubeClient {
  return new KubeClient({
    transport: new HttpTransport(connectionTo(controlPlane, options), realClock, options.protocols),
    clock: realClock,
    userAgent: options.userAgent ?? 'fenceline-test',
    fieldManager: 'fenceline-test',
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  });
}
