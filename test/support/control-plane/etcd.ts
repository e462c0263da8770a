/** etcd through its JSON gateway: what the Kubernetes API cannot ask for, and seeding that skips it. */

export interface EtcdEntry {
  /** For instance /registry/pods/default/web-0, or /registry/minions/node-1 for a node. */
  readonly key: string;
  /** Objects are stored as JSON, which kube-apiserver reads as well as its own encoding. */
  readonly value: string | object;
}

// etcd refuses transactions with more operations or bytes than this.
const MAX_OPERATIONS = 128;
const MAX_TRANSACTION_BYTES = 1_000_000;

export async function etcdPut(etcdUrl: string, entries: Iterable<EtcdEntry>): Promise<void> {
  let batch: object[] = [];
  let batchBytes = 0;
  const flush = async () => {
    if (batch.length > 0) await etcdCall(etcdUrl, 'kv/txn', { success: batch });
    batch = [];
    batchBytes = 0;
  };
  for (const { key, value } of entries) {
    const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    if (batch.length === MAX_OPERATIONS || batchBytes + bytes.length > MAX_TRANSACTION_BYTES) await flush();
    batchBytes += bytes.length;
    batch.push({ requestPut: { key: Buffer.from(key).toString('base64'), value: bytes.toString('base64') } });
  }
  await flush();
}

export async function etcdHasMember(etcdUrl: string, name: string, timeoutMs: number): Promise<boolean> {
  const answer = await etcdCall(etcdUrl, 'cluster/member/list', {}, timeoutMs);
  const { members } = answer as { members: { name?: string }[] };
  return members.some((member) => member.name === name);
}

export async function etcdRevision(etcdUrl: string): Promise<number> {
  const { header } = (await etcdCall(etcdUrl, 'maintenance/status', {})) as { header: { revision: string } };
  return Number(header.revision);
}

/** Forgets all history before the current revision, which it returns. */
export async function etcdCompact(etcdUrl: string): Promise<number> {
  const revision = await etcdRevision(etcdUrl);
  await etcdCall(etcdUrl, 'kv/compaction', { revision: String(revision), physical: true });
  return revision;
}

async function etcdCall(etcdUrl: string, path: string, body: object, timeoutMs = 60_000): Promise<unknown> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(`${etcdUrl}/v3/${path}`, { method: 'POST', body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error(`etcd ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
