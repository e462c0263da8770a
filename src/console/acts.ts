/** What a person does to a node from the page: the same commands as on the command line, with the rights of that person. */
import { approveAs } from '../cli/approve.ts';
import { requestFence } from '../cli/fence.ts';
import { whoAmI } from '../cli/node-fence.ts';
import { resume } from '../cli/resume.ts';
import { stop } from '../cli/stop.ts';
import { UserError } from '../cli/user-error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { NodeAct } from './picture.ts';

export interface Asked {
  act: NodeAct;
  node: string;
  /** The incident that was on the page: an approval is for that one and no other. */
  incident?: string;
  /** The name of the node, as it was typed: asked for before what cannot be taken back. */
  typed?: string;
}

export interface Told {
  ok: boolean;
  text: string;
}

/** It cuts the power of a machine that may be running. */
const needsName: ReadonlySet<NodeAct> = new Set(['fence']);

export async function actAs(client: KubeClient, { act, node, incident, typed }: Asked): Promise<Told> {
  if (needsName.has(act) && typed !== node) {
    return { ok: false, text: 'type the name of the node first; nothing was done' };
  }
  try {
    return { ok: true, text: await carryOut(client, { act, node, ...(incident === undefined ? {} : { incident }) }) };
  } catch (error) {
    if (error instanceof UserError) return { ok: false, text: error.message };
    throw error;
  }
}

async function carryOut(client: KubeClient, { act, node, incident }: Asked): Promise<string> {
  switch (act) {
    case 'approve': {
      const by = await whoAmI(client);
      return (await approveAs(client, node, by, incident === undefined ? {} : { incident })).what;
    }
    case 'stop': {
      const { what, notes } = await stop(client, node, {});
      return [what, ...notes].join('; ');
    }
    case 'resume': {
      const { what, notes } = await resume(client, node, {});
      return [what, ...notes].join('; ');
    }
    case 'fence': {
      const by = await whoAmI(client);
      await requestFence(client, node, by, {});
      return 'fence requested; the page shows what comes of it';
    }
  }
}
