/**
 * The pods of one node in trouble and the volumes they use, watched for as long as the trouble lasts. Such a watch costs
 * the API server what the kubelet of that node cost it, and that one is silent now.
 */
import type { WireBudget } from '../api/budgets.ts';
import { spentBudget } from '../api/budgets.ts';
import type { PodFacts, VolumeFacts } from '../api/release-view.ts';
import type { SpentBudget } from '../api/spent-budget.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import { ListWatch } from '../kube/list-watch.ts';
import { compareVersions } from '../kube/resource-version.ts';
import { persistentVolumeClaims, persistentVolumes, podDisruptionBudgets, pods } from '../kube/resources.ts';
import { claimsOf, isAttached, projectPod } from './project-release.ts';

export interface NodePodsOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  node: string;
  onChange: () => void;
  onProblem: (error: KubeError) => void;
}

const readTimeoutMs = 5000;
/** Longer than a watch is behind on a bad day. */
const ownWriteLateMs = 5000;
/**
 * Of a bound claim and its volume nothing changes that matters here; what could not be read is tried again at once. A
 * hundred nodes that stay down with thirty volumes each would otherwise cost a hundred reads a second.
 */
const rereadAfterMs = 300_000;
/** Where a budget is only told of, not obeyed. */
const budgetsHoldMs = 30_000;

interface WireClaim extends KubeObject {
  spec?: { volumeName?: string };
}

interface WireVolume extends KubeObject {
  spec?: Record<string, unknown> & {
    csi?: { driver?: string; volumeHandle?: string };
    local?: object;
    accessModes?: string[];
  };
}

interface WirePending extends KubeObject {
  spec?: { nodeName?: string; volumes?: { name: string }[] };
}

export class NodePods {
  readonly #options: NodePodsOptions;
  readonly #watch: ListWatch<PodFacts>;
  readonly #stop = new AbortController();
  readonly #volumes = new Map<string, { facts: VolumeFacts; readAtMs: number }>();
  #budgets: { namespaces: ReadonlySet<string>; spent: SpentBudget[]; readAtMs: number } | undefined;
  readonly #running: Promise<void>;
  readonly #written = new Map<string, string | undefined>();
  #wroteAtMs = -Infinity;

  constructor(options: NodePodsOptions) {
    this.#options = options;
    const { client, clock, random, node, onChange, onProblem } = options;
    this.#watch = new ListWatch<PodFacts>({
      client,
      clock,
      random,
      resource: pods,
      fieldSelector: `spec.nodeName=${node}`,
      project: projectPod,
      onChange,
      onSync: onChange,
      onProblem,
    });
    this.#running = this.#watch.run(this.#stop.signal);
  }

  /** Rejects when something is broken beyond repair; ends with `close`. */
  get running(): Promise<void> {
    return this.#running;
  }

  get ageMs(): number {
    return this.#watch.ageMs;
  }

  get pods(): PodFacts[] {
    return [...this.#watch.entries.values()].map(({ value }) => value);
  }

  /** We have made this version of a pod, or deleted it: until that is seen, the view is behind ourselves. */
  wrote(uid: string, version: string | undefined): void {
    this.#written.set(uid, version);
    this.#wroteAtMs = this.#options.clock.monotonic();
  }

  /** Whether the view shows all that we have written (S17). */
  get showsOwnWrites(): boolean {
    if (this.#written.size === 0) return true;
    for (const { value } of this.#watch.entries.values()) {
      if (!this.#written.has(value.uid)) continue;
      const version = this.#written.get(value.uid);
      // A pod that finalizers keep is still there, without any grace left. So is any other for a moment: the API server takes
      // the grace away before it takes the pod, and whoever decides in between deletes it once more.
      const isSeen =
        version === undefined
          ? value.hasFinalizers && value.deletionAtMs !== undefined && value.graceSeconds === 0
          : compareVersions(value.resourceVersion, version) >= 0;
      if (!isSeen) return false;
    }
    this.#written.clear();
    return true;
  }

  /** What we have written has not come: after a while that is a watch that has lost it. */
  awaitOwnWrites(): void {
    if (this.#options.clock.monotonic() - this.#wroteAtMs >= ownWriteLateMs) this.doubt();
  }

  /** Something was found otherwise than it is here. */
  doubt(): void {
    this.#watch.doubt();
  }

  close(): void {
    this.#stop.abort();
  }

  /** What is known of the volumes of these pods, read where it is not, or not any more. */
  async volumesOf(these: readonly PodFacts[]): Promise<Map<string, VolumeFacts>> {
    const claims = new Set(
      these.flatMap(({ namespace, claims: own }) => own.map(({ claim }) => `${namespace}/${claim}`)),
    );
    for (const key of this.#volumes.keys()) if (!claims.has(key)) this.#volumes.delete(key);
    await Promise.all([...claims].map((key) => this.#refresh(key)));
    return new Map([...this.#volumes].map(([key, { facts }]) => [key, facts]));
  }

  /** Of these claims, which a pod elsewhere, or nowhere yet, waits for. Unread is not unwanted: then it is an error. */
  async awaitedOf(claims: ReadonlySet<string>): Promise<Result<Set<string>>> {
    const { client, node } = this.#options;
    const namespaces = new Set([...claims].map((claim) => claim.slice(0, claim.indexOf('/'))));
    const fieldSelector = 'status.phase=Pending';
    const reads = await Promise.all(
      [...namespaces].map((namespace) =>
        client.list<WirePending>(pods, { namespace, fieldSelector }, { timeoutMs: readTimeoutMs }),
      ),
    );
    const awaited = new Set<string>();
    for (const read of reads) {
      if (!read.ok) return read;
      for (const { metadata, spec } of read.value.items) {
        if (metadata.deletionTimestamp !== undefined || spec?.nodeName === node) continue;
        for (const { claim } of claimsOf(metadata.name, spec?.volumes ?? [])) {
          const key = `${metadata.namespace}/${claim}`;
          if (claims.has(key)) awaited.add(key);
        }
      }
    }
    return { ok: true, value: awaited };
  }

  /** Budgets of these namespaces that allow no disruption. What was read a moment ago will do, unless it has to be as it is. */
  async budgetsIn(namespaces: ReadonlySet<string>, isLive: boolean): Promise<Result<SpentBudget[]>> {
    const { client, clock } = this.#options;
    const known = this.#budgets;
    const isFresh = known !== undefined && clock.monotonic() - known.readAtMs < budgetsHoldMs;
    if (!isLive && isFresh && [...namespaces].every((one) => known.namespaces.has(one))) {
      return { ok: true, value: known.spent };
    }
    const reads = await Promise.all(
      [...namespaces].map((namespace) =>
        client.list<KubeObject & WireBudget>(podDisruptionBudgets, { namespace }, { timeoutMs: readTimeoutMs }),
      ),
    );
    const spent: SpentBudget[] = [];
    for (const read of reads) {
      if (!read.ok) return read;
      spent.push(...read.value.items.flatMap(spentBudget));
    }
    this.#budgets = { namespaces, spent, readAtMs: clock.monotonic() };
    return { ok: true, value: spent };
  }

  async #refresh(key: string): Promise<void> {
    const known = this.#volumes.get(key);
    const now = this.#options.clock.monotonic();
    if (known?.facts.known === true && now - known.readAtMs < rereadAfterMs) return;
    this.#volumes.set(key, { facts: await this.#read(key), readAtMs: now });
  }

  async #read(key: string): Promise<VolumeFacts> {
    const { client } = this.#options;
    const [namespace = '', name = ''] = key.split('/', 2);
    const options = { timeoutMs: readTimeoutMs };
    const claim = await client.get<WireClaim>({ resource: persistentVolumeClaims, namespace, name }, options);
    if (!claim.ok) return this.#unknown(key, 'ClaimMissing', `claim ${key}`, claim.error);
    const volumeName = claim.value.spec?.volumeName ?? '';
    if (volumeName === '') {
      return { claim: key, known: false, reason: 'ClaimUnbound', message: `claim ${key} has no volume` };
    }
    const volume = await client.get<WireVolume>({ resource: persistentVolumes, name: volumeName }, options);
    if (!volume.ok) return this.#unknown(key, 'VolumeMissing', `volume ${volumeName} of claim ${key}`, volume.error);
    return { claim: key, known: true, volume: volumeName, ...volumeFacts(volume.value) };
  }

  #unknown(claim: string, reason: 'ClaimMissing' | 'VolumeMissing', what: string, error: KubeError): VolumeFacts {
    if (error.kind === 'notFound') return { claim, known: false, reason, message: `${what} does not exist` };
    this.#options.onProblem(error);
    return { claim, known: false, reason: 'Unreadable', message: `${what} cannot be read: ${error.message}` };
  }
}

/** What a PersistentVolume says beside where it leads. */
export const besideSource: ReadonlySet<string> = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

function isInTree(spec: WireVolume['spec'] = {}): boolean {
  if (spec.csi !== undefined) return false;
  const sources = Object.keys(spec).filter((key) => !besideSource.has(key));
  // Without any it cannot be read, which is not no.
  return sources.length === 0 || sources.some(isAttached);
}

/** Where a PersistentVolume leads; `claim` and its name are for whoever asks. */
export function volumeFacts({
  metadata,
  spec,
}: WireVolume): Omit<Extract<VolumeFacts, { known: true }>, 'claim' | 'known' | 'volume'> {
  const { driver, volumeHandle } = spec?.csi ?? {};
  const provisionedBy = metadata.annotations?.['pv.kubernetes.io/provisioned-by'];
  return {
    ...(driver === undefined ? {} : { csi: { driver, handle: volumeHandle ?? '' } }),
    local: spec?.local !== undefined,
    ...(isInTree(spec) ? { inTree: true } : {}),
    ...(provisionedBy === undefined ? {} : { provisionedBy }),
    accessModes: spec?.accessModes ?? [],
  };
}
