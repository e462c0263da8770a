/** How the nodes around one are that is to be cut, or was. */

/** Which nodes have not been heard of since the fence of this one was called for, and do not count as silent either. */
export interface Surroundings {
  unheard: number;
  /** The first few of them. */
  names: readonly string[];
  /** By the API server's clock: by then each of them has renewed its Lease, or is silent. */
  settledAtMs: number;
}

/** Other nodes whose devices cannot say whose power they are, as they are now. */
export interface Beside extends Surroundings {
  /** Those that are silent; `isOff`: their own devices, which cannot say whose power they are, said so last. */
  silent: readonly { name: string; isOff: boolean }[];
}
