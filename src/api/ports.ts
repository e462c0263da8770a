/**
 * Switch ports between nodes and their storage. One that cannot say whose it is may be that of another node: that it is closed says
 * nothing of this one. Unlike a machine without power, nobody falls silent by it who could be missed, so that somebody has to have
 * looked: until then nothing rests on it, and the power of the node has to be cut before anything goes.
 */

export interface PortFacts {
  /** By their hashes as a fence records them: the devices that cut the node off from its storage, cannot say whose port they are, and that nobody has shown to be its own. */
  unshownPorts?: readonly string[];
}

/** Of what is cut off from its storage by several ports, all of them have to be its own. */
export function shownCuts<T extends { device?: string | undefined; storage: readonly string[] }>(
  cuts: readonly T[],
  { unshownPorts = [] }: PortFacts,
): T[] {
  const open = new Set(unshownCuts(cuts, { unshownPorts }).flatMap(({ storage }) => storage));
  return cuts.filter(({ storage }) => storage.every((driver) => !open.has(driver)));
}

export function unshownCuts<T extends { device?: string | undefined }>(
  cuts: readonly T[],
  { unshownPorts = [] }: PortFacts,
): T[] {
  return cuts.filter(({ device = '' }) => unshownPorts.includes(device));
}

/** For people: what is missing, and the line to type. */
export function portUnshown(method: string, node: string): string {
  return `${method} cannot say whose port it is, and nobody has shown that it is that of ${node}: fenceline check --shown ${node}`;
}
