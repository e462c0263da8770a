/**
 * Which devices have to say off before something rests on it: those that have confirmed it, as the fence has it on record.
 * What the configuration says by now only tells how to reach them; where it speaks of others, nobody can be asked (SAF-5).
 */
import type { Level, Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { isSilent } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { shownCuts, unshownCuts } from '../api/ports.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { DeviceQuestion } from '../api/steps.ts';

type Fact = NonNullable<NodeFenceStatus['fence']>['switched'][number];

/** What devices have confirmed of the power of the machine; none: it is not known to be off. */
export function powerFacts({ fence }: NodeCase): Fact[] {
  const stored = fence?.status.fence;
  // A machine that its provider removes stays off when its fence has ended.
  const isThere = stored?.phase === 'off' || stored?.phase === 'finished';
  return isThere ? confirmedIn(stored.switched, 'power-management') : [];
}

/** What devices have confirmed of its way to the storage, of those that are known to be its own. A cordon is no device. */
export function storageFacts(nodeCase: NodeCase): Fact[] {
  return shownCuts(portsClosed(nodeCase), nodeCase);
}

/** The same, of those of which nobody knows whose they are. */
export function unshownFacts(nodeCase: NodeCase): Fact[] {
  return unshownCuts(portsClosed(nodeCase), nodeCase);
}

function portsClosed({ fence }: NodeCase): Fact[] {
  const stored = fence?.status.fence;
  if (stored?.phase !== 'isolated') return [];
  return confirmedIn(stored.switched, 'isolation').filter(({ storage }) => storage.length > 0);
}

function confirmedIn(switched: readonly Fact[], step: Fact['step']): Fact[] {
  return switched.filter((one) => one.step === step && one.device !== undefined && one.confirmedAt !== undefined);
}

export function powerQuestion(nodeCase: NodeCase): DeviceQuestion {
  const { config, serverNowMs } = nodeCase;
  const levels = config.ok ? config.config.powerManagement : [];
  const facts = powerFacts(nodeCase);
  const question: DeviceQuestion = { what: 'power', methods: methodsOf(facts, levels) };
  // A renewal may have been under way when we cut the power; what was found off had long been silent.
  if (facts.length === 0 || facts.some(({ commandSentAt }) => commandSentAt === undefined)) {
    return { ...question, ...doorOf(nodeCase) };
  }
  const sinceMs = Math.min(...facts.map(({ confirmedAt = '' }) => Date.parse(confirmedAt)));
  return { ...question, offForMs: Math.max(0, serverNowMs - sinceMs) };
}

/** What was found off under a Lease that is not overdue is off only while its kubelet does not answer (EVD-4). */
export function doorOf({ lease, node }: NodeCase): Pick<DeviceQuestion, 'door'> {
  if (lease === undefined || isSilent(lease) || node?.kubelet === undefined) return {};
  return { door: node.kubelet };
}

export function storageQuestion(nodeCase: NodeCase): DeviceQuestion {
  const { config } = nodeCase;
  const levels = config.ok ? config.config.isolation : [];
  return { what: 'storage', methods: methodsOf(storageFacts(nodeCase), levels) };
}

/** One for each fact, or none at all. */
function methodsOf(facts: readonly Fact[], levels: readonly Level[]): Method[] {
  const known = levels.flatMap(({ off }) => off);
  const methods = facts.map(({ method, device }) =>
    known.find((one) => one.name === method && deviceHash(one) === device),
  );
  return methods.every((method) => method !== undefined) ? methods : [];
}
