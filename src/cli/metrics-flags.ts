/** Metrics behind a door of their own, by TLS and for those who may read them. */
import type { Command } from 'commander';
import { Option } from 'commander';
import { readPair } from '../operator/certificate.ts';
import { parseBindAddress } from '../operator/health-server.ts';
import type { MetricsDoor } from '../operator/metrics-server.ts';
import { checked } from './checked.ts';
import { UserError } from './user-error.ts';

export interface MetricsFlags {
  metricsBindAddress?: { host?: string; port: number };
  metricsTlsCertFile?: string;
  metricsTlsKeyFile?: string;
}

export function addMetricsFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--metrics-bind-address <host:port>',
        'where /metrics is served instead, by TLS, to those who may get it by the rights of the cluster; default: to everybody',
      ).argParser(checked(parseBindAddress)),
    )
    .option('--metrics-tls-cert-file <file>', 'certificate for that, in PEM; read again when it changes')
    .option('--metrics-tls-key-file <file>', 'key of that certificate, in PEM');
}

/** Undefined: there is none. What is wrong is found out now, and not by who scrapes. */
export async function metricsDoorOf(flags: MetricsFlags): Promise<MetricsDoor | undefined> {
  const { metricsBindAddress: bind, metricsTlsCertFile: certFile, metricsTlsKeyFile: keyFile } = flags;
  if (bind === undefined && certFile === undefined && keyFile === undefined) return undefined;
  if (bind === undefined || certFile === undefined || keyFile === undefined) {
    throw new UserError('--metrics-bind-address, --metrics-tls-cert-file and --metrics-tls-key-file belong together');
  }
  await readPair({ certFile, keyFile }).catch((error: unknown) => {
    throw new UserError(`the certificate of metrics: ${error instanceof Error ? error.message : String(error)}`);
  });
  return { bind, certFile, keyFile };
}
