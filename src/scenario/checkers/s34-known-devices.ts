/**
 * S34: nothing goes on the strength of power by the word of a device that is known to be wrong, or that cannot say whose
 * power it is and was never seen on while its node lived; nor of one by whose word something has gone before from a machine that lived
 * on in the same boot, until a person has said that it is right. Judged by what the devices answered on the wire and by the renewals that
 * reached the API server, whatever was made of them.
 */
import type { KubeObject } from '../../kube/client.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { ClusterState, StoredChange } from '../cluster-state.ts';
import type { CheckContext, Invariant } from './checker.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

interface Heard {
  wasSeenOn: boolean;
  /** When it first said off, since it last said on under a living node, and in which boot that was. */
  off?: { atMs: number; bootId: string } | undefined;
}

/** Something has gone by its word, in this boot; and since when its machine has renewed from the same one. */
interface Went {
  atMs: number;
  bootId: string;
  aliveSinceMs?: number;
  isDisproven?: boolean;
}

/** A kubelet whose state does not change writes it every five minutes: by then it has said which boot it is in. */
const reportedMs = 330_000;

/** A renewal that was sent before the power went may arrive so long after. */
const underwayMs = 3000;

export const s34: Invariant = {
  id: 'S34',
  check: (context) => {
    const devices = new Map<string, Heard>();
    /** What the ConfigMaps say of the devices themselves. */
    const methods = new Map<string, string>();
    const went = new Map<string, Went>();
    const { state, machineOf, nowMs, pulseOf, deviceOf, violated } = context;
    return {
      onWire(event) {
        if (event.type !== 'answered') return;
        const { node, power } = event;
        const known = devices.get(node) ?? { wasSeenOn: false };
        const pulse = pulseOf(node);
        const isAlive = pulse !== undefined && pulse.silentForMs < pulse.silentAfterMs;
        if (power === 'off') known.off ??= { atMs: nowMs(), bootId: machineOf(node)?.bootId ?? '' };
        else if (isAlive) devices.set(node, { wasSeenOn: true });
        if (power === 'off' || !isAlive) devices.set(node, known);
      },
      onRenewed(node) {
        const known = went.get(node);
        if (known === undefined || nowMs() < known.atMs + underwayMs || known.isDisproven === true) return;
        if (machineOf(node)?.bootId !== known.bootId || sharesBoot(state, node)) went.delete(node);
        else known.isDisproven = nowMs() >= (known.aliveSinceMs ??= nowMs()) + reportedMs;
      },
      onStored({ object, type }) {
        const { name } = object.metadata;
        forget(went, object, type);
        if (object.kind !== 'ConfigMap' || !name.startsWith('fence-')) return;
        // With other methods it is another device, as far as anybody knows; which of them are used makes none.
        const { 'config.properties': _, ...rest } = (object as { data?: Record<string, string> }).data ?? {};
        const now = JSON.stringify(rest);
        if (methods.get(name) === now) return;
        methods.set(name, now);
        const node = /^fence-config-(?<node>.+)$/.exec(name)?.groups?.['node'];
        for (const known of [devices, went]) {
          if (node === undefined) known.clear();
          else known.delete(node);
        }
      },
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined) return;
        const records = recordsFor(context, release);
        if (records.length === 0 || records.some(({ basis }) => basis !== 'PowerOff')) return;
        const heard = devices.get(release.node) ?? { wasSeenOn: false };
        if (deviceOf(release.node)?.hasIdentity === false && !heard.wasSeenOn) {
          violated(`${toldOf(release)} by the word of a device that was never seen on while its node lived`);
        } else if (isWrong(context, release.node, heard)) {
          violated(`${toldOf(release)} by the word of a device that had said off while its node lived`);
        } else if (went.get(release.node)?.isDisproven === true) {
          violated(`${toldOf(release)} by the word of a device that had said off of a machine that lived on`);
        }
        const bootId = machineOf(release.node)?.bootId ?? '';
        if (went.get(release.node)?.bootId !== bootId) went.set(release.node, { atMs: nowMs(), bootId });
      },
    };
  },
};

function isWrong({ pulseOf, machineOf, nowMs }: CheckContext, node: string, { off }: Heard): boolean {
  const pulse = pulseOf(node);
  if (off === undefined || pulse === undefined || machineOf(node)?.bootId !== off.bootId) return false;
  return nowMs() - pulse.silentForMs > off.atMs + underwayMs;
}

/** Where nodes are containers, their boot ID says nothing. */
function sharesBoot({ nodes }: ClusterState, name: string): boolean {
  const bootOf = (node: Node | undefined): string | undefined => node?.status?.nodeInfo?.bootID;
  return [...nodes].some(([other, node]) => other !== name && bootOf(node) === bootOf(nodes.get(name)));
}

/** A person has cleared it, or has deleted what was known of it. */
function forget(went: Map<string, Went>, object: KubeObject, type: StoredChange['type']): void {
  if (object.kind !== 'FenceDevice' && object.kind !== 'NodeFence') return;
  const { node = '', cleared } = (object as KubeObject & { spec?: { node?: string; cleared?: object } }).spec ?? {};
  if (type === 'DELETED' || cleared !== undefined) went.delete(node);
}
