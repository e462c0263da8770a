/** What nodes say of volumes, and what attach-detach tells them: volumesInUse and volumesAttached of their status. */
import { isReady } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Api } from './api.ts';
import type { VolumeState } from './attach-state.ts';
import type { ControllerHost } from './host.ts';
import type { Informer } from './informer.ts';
import { hasTaint, outOfServiceTaint } from './node-taints.ts';
import { nodes } from './resources.ts';
import type { WorkQueue } from './work-queue.ts';

export class NodeVolumes {
  readonly #api: Api;
  readonly #nodes: Informer<Node>;
  readonly #volumesOf: (nodeName: string) => Iterable<VolumeState>;
  /** What a node that is gone had last called in use: nobody can take that back but a node of its name. */
  readonly #lastWords = new Map<string, readonly string[]>();
  /** Attached since the node last wrote its status: mounted until it says otherwise. */
  readonly #assumed = new Map<string, Set<string>>();
  /** The last write to each node; the next one waits for it, so that they arrive in their order. */
  readonly #writes = new Map<string, Promise<unknown>>();
  readonly #reports: WorkQueue;

  /** `onNews`: a volume of which a node now says something else. */
  constructor(
    host: ControllerHost,
    api: Api,
    { nodes: informer, volumesOf }: { nodes: Informer<Node>; volumesOf: (nodeName: string) => Iterable<VolumeState> },
    onNews: (volume: VolumeState) => void,
  ) {
    this.#api = api;
    this.#nodes = informer;
    this.#volumesOf = volumesOf;
    this.#reports = host.queue('attachdetach-controller', async (name) => {
      await this.report(name);
      return undefined;
    });
    this.#nodes.on(({ key, object, previous }) => {
      this.#assumed.delete(key);
      const { volumesInUse = [] } = (object === undefined ? previous : undefined)?.status ?? {};
      if (volumesInUse.length === 0) this.#lastWords.delete(key);
      else this.#lastWords.set(key, volumesInUse);
      // Something else may have been written into a node that was just made.
      if (previous === undefined) this.reportSoon(key);
      if (object !== undefined && previous !== undefined && saysTheSame(object, previous)) return;
      for (const volume of volumesOf(key)) onNews(volume);
    });
  }

  assumeInUse(nodeName: string, volume: string): void {
    const assumed = this.#assumed.get(nodeName) ?? new Set();
    this.#assumed.set(nodeName, assumed.add(volume));
  }

  isInUse(nodeName: string, volume: string): boolean {
    if (this.#assumed.get(nodeName)?.has(volume) === true) return true;
    const said = this.#nodes.get(nodeName)?.status?.volumesInUse ?? this.#lastWords.get(nodeName);
    return said?.includes(volume) ?? false;
  }

  isHealthy(nodeName: string): boolean {
    return isReady(this.#nodes.get(nodeName));
  }

  isOutOfService(nodeName: string): boolean {
    const node = this.#nodes.get(nodeName);
    return node !== undefined && hasTaint(node, outOfServiceTaint);
  }

  /** By the server's word, not by what was seen last. A node that is gone uses nothing. */
  async isInUseNow(nodeName: string, volume: string): Promise<boolean> {
    const node = await this.#api.get<Node>(nodes, nodeName);
    return node?.status?.volumesInUse?.includes(volume) ?? false;
  }

  reportSoon(nodeName: string): void {
    this.#reports.add(nodeName);
  }

  /** Ends when the node's volumesAttached says what it should. */
  async report(nodeName: string): Promise<void> {
    const before = this.#writes.get(nodeName);
    const write = (async () => {
      await before?.catch(() => {});
      await this.#write(nodeName);
    })();
    this.#writes.set(nodeName, write);
    try {
      await write;
    } finally {
      if (this.#writes.get(nodeName) === write) this.#writes.delete(nodeName);
    }
  }

  async #write(nodeName: string): Promise<void> {
    const node = this.#nodes.get(nodeName);
    if (node === undefined) return;
    const wanted: string[] = [];
    for (const { name, attachments } of this.#volumesOf(nodeName)) {
      if (attachments.get(nodeName)?.reported === true) wanted.push(name);
    }
    const known = (node.status?.volumesAttached ?? []).map(({ name }) => name);
    if (wanted.length === known.length && wanted.every((name) => known.includes(name))) return;
    const value = wanted.map((name) => ({ name, devicePath: '' }));
    await this.#api.patch(nodes, node, [{ op: 'add', path: '/status/volumesAttached', value }], {
      subresource: 'status',
    });
  }
}

function saysTheSame(node: Node, previous: Node): boolean {
  return (
    isReady(node) === isReady(previous) &&
    hasTaint(node, outOfServiceTaint) === hasTaint(previous, outOfServiceTaint) &&
    (node.status?.volumesInUse ?? []).join() === (previous.status?.volumesInUse ?? []).join()
  );
}
