/** The API server as leader election sees it: Leases that are created, read and replaced, with its rules for versions. */

export interface LeaseAnswer {
  status: number;
  body: string;
}

interface StoredLease {
  metadata: {
    name: string;
    namespace: string;
    resourceVersion: string;
    uid?: string;
    annotations?: Record<string, string>;
  };
  spec?: Record<string, unknown>;
}

export class MemoryLeaseServer {
  #version = 0;
  readonly #leases = new Map<string, StoredLease>();
  /** Every write that took effect, as `METHOD holder`. */
  readonly writes: string[] = [];

  lease(namespace: string, name: string): StoredLease | undefined {
    return this.#leases.get(pathOf(namespace, name));
  }

  /** As somebody with kubectl would. */
  remove(namespace: string, name: string): void {
    this.#version += 1;
    this.#leases.delete(pathOf(namespace, name));
  }

  edit(namespace: string, name: string, change: (lease: StoredLease) => void): void {
    const lease = structuredClone(this.#leases.get(pathOf(namespace, name)));
    if (lease === undefined) throw new Error(`no lease ${name}`);
    change(lease);
    this.#store(pathOf(namespace, name), lease);
  }

  handle(method: string, pathWithQuery: string, body: string | undefined): LeaseAnswer {
    const path = pathWithQuery.split('?', 1)[0] ?? '';
    const sent = body === undefined ? undefined : (JSON.parse(body) as StoredLease);
    if (method === 'POST' && sent !== undefined) return this.#create(`${path}/${sent.metadata.name}`, sent);
    const known = this.#leases.get(path);
    if (known === undefined && method === 'PUT' && sent !== undefined) return this.#replaceMissing(path, sent);
    if (known === undefined) return refusal(404, 'NotFound', `leases "${path}" not found`);
    if (method === 'GET') return { status: 200, body: JSON.stringify(known) };
    if (method === 'PUT' && sent !== undefined) return this.#replace(path, known, sent);
    return refusal(405, 'MethodNotAllowed', method);
  }

  #create(path: string, sent: StoredLease): LeaseAnswer {
    if (this.#leases.has(path)) return refusal(409, 'AlreadyExists', 'already exists');
    this.writes.push(`POST ${String(sent.spec?.['holderIdentity'])}`);
    const uid = `uid-${this.#version + 1}`;
    return { status: 201, body: JSON.stringify(this.#store(path, { ...sent, metadata: { ...sent.metadata, uid } })) };
  }

  /** A Lease may be created by PUT, whatever version it claims to be of; only a UID tells that another one was meant. */
  #replaceMissing(path: string, sent: StoredLease): LeaseAnswer {
    if (sent.metadata.uid === undefined) return this.#create(path, sent);
    return refusal(409, 'Conflict', `Precondition failed: UID in precondition: ${sent.metadata.uid}`);
  }

  #replace(path: string, known: StoredLease, sent: StoredLease): LeaseAnswer {
    if (sent.metadata.resourceVersion !== known.metadata.resourceVersion) {
      return refusal(409, 'Conflict', 'the object has been modified');
    }
    // A write that changes nothing is not one: the real server keeps the version.
    if (JSON.stringify(sent.spec) === JSON.stringify(known.spec)) return { status: 200, body: JSON.stringify(known) };
    this.writes.push(`PUT ${String(sent.spec?.['holderIdentity'])}`);
    return { status: 200, body: JSON.stringify(this.#store(path, sent)) };
  }

  #store(path: string, lease: StoredLease): StoredLease {
    this.#version += 1;
    const stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } };
    this.#leases.set(path, stored);
    return stored;
  }
}

function pathOf(namespace: string, name: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
}

function refusal(status: number, reason: string, message: string): LeaseAnswer {
  return { status, body: JSON.stringify({ kind: 'Status', status: 'Failure', reason, message, code: status }) };
}
