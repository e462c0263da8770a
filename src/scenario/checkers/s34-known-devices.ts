/**
 * S34: nothing goes on the strength of power by the word of a device that is known to be wrong, or that cannot say whose
 * power it is and was never seen on while its node lived. Judged by what the devices answered on the wire and by the
 * renewals that reached the API server, whatever was made of them.
 */
import type { CheckContext, Invariant } from './checker.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

interface Heard {
  wasSeenOn: boolean;
  /** When it first said off, since it last said on under a living node, and in which boot that was. */
  off?: { atMs: number; bootId: string } | undefined;
}

/** A renewal that was sent before the power went may arrive so long after. */
const underwayMs = 3000;

export const s34: Invariant = {
  id: 'S34',
  check: (context) => {
    const devices = new Map<string, Heard>();
    /** What the ConfigMaps say of the devices themselves. */
    const methods = new Map<string, string>();
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
      onStored({ object }) {
        const { name } = object.metadata;
        if (object.kind !== 'ConfigMap' || !name.startsWith('fence-')) return;
        // With other methods it is another device, as far as anybody knows; which of them are used makes none.
        const { 'config.properties': _, ...rest } = (object as { data?: Record<string, string> }).data ?? {};
        const now = JSON.stringify(rest);
        if (methods.get(name) === now) return;
        methods.set(name, now);
        const node = /^fence-config-(?<node>.+)$/.exec(name)?.groups?.['node'];
        if (node === undefined) devices.clear();
        else devices.delete(node);
      },
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined) return;
        const records = recordsFor(state, release);
        if (records.length === 0 || records.some(({ basis }) => basis !== 'PowerOff')) return;
        const heard = devices.get(release.node) ?? { wasSeenOn: false };
        if (deviceOf(release.node)?.hasIdentity === false && !heard.wasSeenOn) {
          violated(`${toldOf(release)} by the word of a device that was never seen on while its node lived`);
        } else if (isWrong(context, release.node, heard)) {
          violated(`${toldOf(release)} by the word of a device that had said off while its node lived`);
        }
      },
    };
  },
};

function isWrong({ pulseOf, machineOf, nowMs }: CheckContext, node: string, { off }: Heard): boolean {
  const pulse = pulseOf(node);
  if (off === undefined || pulse === undefined || machineOf(node)?.bootId !== off.bootId) return false;
  return nowMs() - pulse.silentForMs > off.atMs + underwayMs;
}
