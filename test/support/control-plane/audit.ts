import { readFile } from 'node:fs/promises';

/** One finished request, as kube-apiserver wrote it down; the parts that tests look at. */
export interface AuditEvent {
  readonly auditID: string;
  readonly level: string;
  readonly stage: 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username: string; readonly groups?: readonly string[] };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly apiGroup?: string;
    readonly apiVersion?: string;
    readonly resourceVersion?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number; readonly reason?: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  /** Only with `audit: 'Request'` and above. */
  readonly requestObject?: unknown;
  /** Only with `audit: 'RequestResponse'`. */
  readonly responseObject?: unknown;
  readonly annotations?: Readonly<Record<string, string>>;
}

export async function readAuditEvents(path: string): Promise<AuditEvent[]> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  lines.pop(); // What follows the last line break is empty, or not yet written to its end.
  return lines.map((line) => JSON.parse(line) as AuditEvent);
}
