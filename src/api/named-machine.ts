/** Whether a device names the machine of another node of the cluster: it is that one's, whatever is written about it (SAF-2). */
import type { Method } from './fence-config.ts';
import type { Rival } from './machine.ts';
import { claimsOf, machineKey } from './machine.ts';
import type { Said } from './power.ts';
import { UNCHECKED } from './power.ts';
import type { LiveNode } from './release-view.ts';

/** What both of them say that they are tells nobody whose it is: that is no identity, and not another one. */
export function ofAnother(node: LiveNode, { identity }: Method, { said, rival }: { said: Said; rival: Rival }): Said {
  const { name, disputed = {} } = node;
  if (said.says === undefined || identity === UNCHECKED) return said;
  const key = machineKey(said.says);
  const other = rival(key);
  if (other === undefined || Object.values(disputed).includes(other)) return said;
  // It was asked before the other one said so: what it answers is proof for neither, and it is nobody else's either.
  if (claimsOf(node).includes(key)) {
    return { ...said, power: 'unknown', message: `${said.device}: node ${other} says that it is ${said.says} too` };
  }
  const message = `${said.device} answers for ${said.says}, which is node ${other}, and not ${name}`;
  return { ...said, identity: 'other', isNode: other, message };
}
