/** What is reached from outside: probes, and metrics beside them or behind a door of their own. */
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Log } from '../report/log.ts';
import type { BoundedServer } from './bounded-server.ts';
import { healthServer, onceASecond, type HealthSources } from './health-server.ts';
import { MetricsServer, type MetricsDoor } from './metrics-server.ts';

export interface DoorOptions {
  client: KubeClient;
  clock: Clock;
  log: Log;
  /** Absent: /healthz, /readyz and /metrics are not served, as in a simulation that has no real network. */
  bind?: { host?: string; port: number };
  /** Absent: /metrics is beside the probes, in the clear and for everybody. */
  metricsDoor?: MetricsDoor;
}

export class Doors {
  readonly #options: DoorOptions;
  readonly #health: BoundedServer;
  readonly #metrics: MetricsServer | undefined;

  constructor(options: DoorOptions, sources: Omit<HealthSources, 'metrics'> & { metrics: () => string }) {
    this.#options = options;
    const { clock, metricsDoor: door } = options;
    const metrics = onceASecond(clock, sources.metrics);
    const { unhealthy, unready } = sources;
    this.#health = healthServer({ unhealthy, unready, ...(door === undefined && { metrics }) }, { clock });
    this.#metrics = door && new MetricsServer({ ...options, door, metrics });
  }

  /** Answers the ports; rejects if an address is taken. */
  async open(): Promise<{ port?: number; metricsPort?: number }> {
    const { bind } = this.#options;
    const port = bind === undefined ? {} : { port: await this.#health.listen(bind) };
    return this.#metrics === undefined ? port : { ...port, metricsPort: await this.#metrics.listen() };
  }

  async close(): Promise<void> {
    await Promise.all([this.#health.close(), this.#metrics?.close()]);
  }
}
