/** The command line of each component: stock binaries, scaled down in time so that a test need not wait for minutes. */
import { join } from 'node:path';
import type { ControlPlaneFiles } from './files.ts';

export type ComponentName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler';

export interface ComponentOptions {
  /** More flags, `--name=value`; a flag given here wins over the harness's own. */
  readonly flags?: readonly string[];
}

export interface ApiserverOptions extends ComponentOptions {
  /** Pods run under accounts and get their tokens; the controller manager has to run, which makes the accounts. */
  readonly serviceAccounts?: boolean;
  /** How long pods that say nothing else stay bound to a node that is not ready or unreachable. */
  readonly notReadyTolerationSeconds?: number;
  readonly unreachableTolerationSeconds?: number;
}

export interface ControllerManagerOptions extends ComponentOptions {
  readonly nodeMonitorPeriodSeconds?: number;
  /** Silence of a node after which its Ready condition turns Unknown. */
  readonly nodeMonitorGraceSeconds?: number;
}

export interface EtcdInput {
  readonly dir: string;
  readonly port: number;
  readonly member: string;
  readonly options: ComponentOptions;
}

export function etcdArgs({ dir, port, member, options }: EtcdInput): string[] {
  const url = `http://127.0.0.1:${port}`;
  return [
    `--name=${member}`,
    `--data-dir=${join(dir, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync',
    '--quota-backend-bytes=8589934592',
    '--log-level=warn',
    ...(options.flags ?? []),
  ];
}

export interface ApiserverInput {
  readonly files: ControlPlaneFiles;
  readonly port: number;
  readonly etcdUrl: string;
  readonly auditLog: string | undefined;
  readonly options: ApiserverOptions;
}

export function apiserverArgs({ files, port, etcdUrl, auditLog, options }: ApiserverInput): string[] {
  const audit = [
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${auditLog}`,
    '--audit-log-maxsize=10000',
  ];
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    // Never dialled; without it the server looks for a network interface and fails on a machine that has none.
    '--advertise-address=10.0.0.1',
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
    `--client-ca-file=${files.caCert}`,
    `--token-auth-file=${files.tokens}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    ...(options.serviceAccounts ? [] : ['--disable-admission-plugins=ServiceAccount']),
    '--allow-privileged=true',
    `--default-not-ready-toleration-seconds=${options.notReadyTolerationSeconds ?? 5}`,
    `--default-unreachable-toleration-seconds=${options.unreachableTolerationSeconds ?? 5}`,
    ...(auditLog === undefined ? [] : audit),
    ...(options.flags ?? []),
  ];
}

export function auditLogPath(logDir: string): string {
  return join(logDir, 'audit.log');
}

export interface ClientComponentInput<Options extends ComponentOptions> {
  readonly files: ControlPlaneFiles;
  readonly port: number;
  readonly kubeconfig: string;
  readonly options: Options;
}

export function controllerManagerArgs(input: ClientComponentInput<ControllerManagerOptions>): string[] {
  const { options, files } = input;
  return [
    ...servingArgs(input),
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.caCert}`,
    // Every controller under a name of its own, as in a real cluster, so that the audit log tells them apart.
    '--use-service-account-credentials=true',
    // With the stock limit of 20 requests a second it takes 5 s to make those names, before any controller starts.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    `--node-monitor-period=${options.nodeMonitorPeriodSeconds ?? 1}s`,
    `--node-monitor-grace-period=${options.nodeMonitorGraceSeconds ?? 8}s`,
    ...(options.flags ?? []),
  ];
}

export function schedulerArgs(input: ClientComponentInput<ComponentOptions>): string[] {
  return [...servingArgs(input), ...(input.options.flags ?? [])];
}

function servingArgs({ kubeconfig, port, files }: ClientComponentInput<ComponentOptions>): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
  ];
}
