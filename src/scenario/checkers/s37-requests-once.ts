/**
 * S37: what a person asks for is done once, and only if it is about today. When a machine whose node is well is told to go
 * off, the request that stands in its record is of the last ten minutes, or was answered within them; it is not dated ahead,
 * is no older than the record that holds it, was not spent before, and stands under a policy that acts, or says that it needs
 * none.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { StoredFence } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';
import { succeeded } from './checker.ts';
import { Troubles } from './trouble.ts';

interface Followed {
  key: string;
  /** When an operator first wrote into the record that holds it. */
  answeredMs?: number;
  wasCut: boolean;
  isSpent: boolean;
}

const minuteMs = 60_000;
const silenced = ['DryRun', 'Paused'];

export const s37: Invariant = {
  id: 'S37',
  check: (context) => {
    const { state, machineOf, wallMs, violated } = context;
    const troubles = new Troubles(context);
    const followed = new Map<string, Followed>();
    const follow = (fence: StoredFence | undefined): Followed | undefined => {
      const { node = '', requested } = fence?.spec ?? {};
      if (requested === undefined) return undefined;
      const key = `${requested.by} ${requested.at}`;
      const known = followed.get(node);
      if (known?.key === key) return known;
      const fresh: Followed = { key, wasCut: false, isSpent: false };
      followed.set(node, fresh);
      return fresh;
    };
    const wrong = (fence: StoredFence, { answeredMs = wallMs(), isSpent }: Followed): string | undefined => {
      const { at = '', withoutPolicy = false } = fence.spec?.requested ?? {};
      const atMs = Date.parse(at);
      if (isSpent) return 'was spent before';
      if (atMs > answeredMs + minuteMs) return 'is dated ahead';
      if (atMs < Date.parse(fence.metadata.creationTimestamp ?? '') - minuteMs) return 'is older than its record';
      if (answeredMs > atMs + 10 * minuteMs + 1000) return 'was not answered within ten minutes';
      const policy = troubles.policyOf(fence.spec?.node ?? '');
      if (policy === undefined && !withoutPolicy) return 'stands without a policy';
      return silenced.includes(policy?.spec?.mode ?? '') ? 'stands under a policy that does not act' : undefined;
    };
    return {
      onStored(change) {
        troubles.take(change);
        if (change.object.kind === 'NodeFence' && change.type !== 'DELETED') follow(change.object);
      },
      onWrite(write) {
        if (write.resource !== 'nodefences' || !succeeded(write)) return;
        const mine = follow(write.after);
        if (mine !== undefined) mine.answeredMs ??= wallMs();
      },
      onMachine({ type }, machine) {
        const mine = followed.get(machine);
        if (type === 'booting' && mine?.wasCut === true) mine.isSpent = true;
      },
      onWire(event) {
        if (event.type !== 'device' || event.action !== 'off') return;
        const { node } = event;
        const isWell = !troubles.isSilent(node) && troubles.conditionsOf(node).length === 0;
        const fence = state.fences.get(nodeFenceName(node));
        const mine = follow(fence);
        if (!isWell || machineOf(node)?.power !== 'on' || fence === undefined || mine === undefined) return;
        const why = wrong(fence, mine);
        if (why !== undefined) violated(`${node} is well, and switched off for a request that ${why}`);
        mine.wasCut = true;
      },
    };
  },
};
