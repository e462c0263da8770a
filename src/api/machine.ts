/**
 * Which machine a node says that it is: by its system UUID, and by the ID that its provider gave it. Whoever joins a node to the
 * cluster says both, and a copied disk or an edited file says what another node says: then it is proof for neither of them.
 */

/** By what devices and clouds know the machine of a node. */
export interface MachineClaims {
  systemUuid?: string;
  providerId?: string;
  /** A hash, by which it is told from another one that had the name of its node before. */
  machineId?: string;
  /** Which Machine of Cluster API its Node says that it is, as `namespace/name`: whoever may write to the Node may write that. */
  machine?: string;
  /** Another node says the same of itself, by what: what two say is left out above, because it is proof for neither. */
  disputed?: { systemUuid?: string; providerId?: string };
  /** The provider ID that is left out: by it nothing is cut, and what was is switched on again. */
  disputedId?: string;
}

/** Another node that says that it is this machine too. */
export type Rival = (key: string) => string | undefined;

const uuidAtEnd = /[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i;

/** Neither all zeros nor all ones, as in machines whose firmware was never told. */
export function isUuid(text: string | undefined): text is string {
  const hex = (text ?? '').toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(hex) && !/^(0{32}|f{32})$/.test(hex);
}

/**
 * The same for what is the same machine, however it is written. Controllers, firmware and kernels disagree about the order of
 * the bytes of a UUID, some releases put a region before it, and Azure writes one ID in upper and lower case: no provider has
 * two that differ by that alone.
 */
export function machineKey(text: string): string {
  const [uuid] = uuidAtEnd.exec(text) ?? [];
  if (uuid === undefined) return text.toLowerCase();
  const [first = ''] = ordersOf(uuid.toLowerCase().replaceAll('-', '')).toSorted();
  return first;
}

/** Whether two UUIDs are of one machine: the same bytes in any of the orders in use. */
export function isSameSystem(one: string, other: string): boolean {
  const plain = (uuid: string): string => uuid.toLowerCase().replaceAll(/[^0-9a-f]/g, '');
  const [left, right] = [plain(one), plain(other)];
  if (left.length !== 32 || right.length !== 32) return false;
  return ordersOf(left).includes(right);
}

/** The bytes of a UUID as firmware stores them: the first three fields have their bytes turned round. */
export function firmwareOrder(hex: string): string {
  const bytes = hex.match(/../g) ?? [];
  const turned = [
    ...bytes.slice(0, 4).toReversed(),
    ...bytes.slice(4, 6).toReversed(),
    ...bytes.slice(6, 8).toReversed(),
    ...bytes.slice(8),
  ].join('');
  return [0, 8, 12, 16, 20].map((start, index, starts) => turned.slice(start, starts[index + 1])).join('-');
}

/** All that one turn, of all bytes or of those that firmware turns, makes of it. */
function ordersOf(hex: string): string[] {
  const turns = [(one: string) => (one.match(/../g) ?? []).toReversed().join(''), (one: string) => plainOrder(one)];
  const found = [hex];
  for (const one of found) {
    for (const turned of turns.map((turn) => turn(one))) if (!found.includes(turned)) found.push(turned);
  }
  return found;
}

function plainOrder(hex: string): string {
  return firmwareOrder(hex).replaceAll('-', '');
}

/** What a node says that it is. Firmware that was never told writes anything for a UUID: that is no claim. */
export function claimsOf({ systemUuid, providerId = '' }: MachineClaims): string[] {
  return [...(isUuid(systemUuid) ? [systemUuid] : []), ...(providerId === '' ? [] : [providerId])].map(machineKey);
}

/** A node without what another one says of itself too, and by whom it is disputed. */
export function undisputed<Node extends MachineClaims>(node: Node, rival: Rival): Node {
  const { systemUuid, providerId = '' } = node;
  const bySystem = isUuid(systemUuid) ? rival(machineKey(systemUuid)) : undefined;
  const byProvider = providerId === '' ? undefined : rival(machineKey(providerId));
  if (bySystem === undefined && byProvider === undefined) return node;
  return {
    ...node,
    ...(bySystem === undefined ? {} : { systemUuid: '' }),
    ...(byProvider === undefined ? {} : { providerId: '', disputedId: providerId }),
    disputed: {
      ...(bySystem === undefined ? {} : { systemUuid: bySystem }),
      ...(byProvider === undefined ? {} : { providerId: byProvider }),
    },
  };
}

/** Of nodes that are all there are. */
export function rivalsAmong(nodes: readonly (MachineClaims & { name: string })[]): (name: string) => Rival {
  const claimants = new Map<string, string[]>();
  for (const node of nodes) {
    for (const key of claimsOf(node)) {
      const known = claimants.get(key);
      if (known === undefined) claimants.set(key, [node.name]);
      else known.push(node.name);
    }
  }
  return (name) => (key) => claimants.get(key)?.find((other) => other !== name);
}
