/**
 * The controller of a CSI driver for the block server: to whom a volume is published may use it, and nobody else. It keeps what SafeDetach
 * promises: it takes a volume from nobody who has it open, unless it is asked to fence; then it takes the access away first.
 */
import type { VolumeAttachment } from '../../../src/world/objects/volumes.ts';
import { UNPUBLISH_FENCE_ANNOTATION } from '../../../src/api/release-view.ts';
import type { BlockServer } from './block-server.ts';

export class BlockController {
  readonly #server: BlockServer;
  readonly #addressOf: (node: string) => string | undefined;
  readonly #published = new Map<string, string>();
  /** Of whom access was taken while he had the volume open. */
  readonly fenced: { volume: string; node: string }[] = [];

  constructor(server: BlockServer, addressOf: (node: string) => string | undefined) {
    this.#server = server;
    this.#addressOf = addressOf;
  }

  /** Why it is not published to the node now; nothing, if it is. */
  publish({ spec }: VolumeAttachment): string | undefined {
    const volume = spec.source.persistentVolumeName ?? '';
    const holder = this.#published.get(volume);
    if (holder !== undefined && holder !== spec.nodeName) return `volume ${volume} is published to node ${holder}`;
    const address = this.#addressOf(spec.nodeName);
    if (address === undefined) return `there is no node ${spec.nodeName}`;
    this.#published.set(volume, spec.nodeName);
    this.#server.grant(volume, address);
    return undefined;
  }

  /** Why it is not taken from the node now; nothing, if it is. */
  unpublish({ metadata, spec }: VolumeAttachment): string | undefined {
    const volume = spec.source.persistentVolumeName ?? '';
    const address = this.#addressOf(spec.nodeName);
    if (address === undefined) return `there is no node ${spec.nodeName}`;
    const isOpen = this.#server.ledger.openFrom(volume).includes(address);
    const isToFence = metadata.annotations?.[UNPUBLISH_FENCE_ANNOTATION] === 'true';
    if (isOpen && !isToFence) return `volume ${volume} is still in use on node ${spec.nodeName}`;
    this.#server.withdraw(volume, address);
    if (isOpen) this.fenced.push({ volume, node: spec.nodeName });
    if (this.#published.get(volume) === spec.nodeName) this.#published.delete(volume);
    return undefined;
  }
}
