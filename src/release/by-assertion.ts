/**
 * By the word of whoever set a taint (FEV): it asserts that nothing runs on the node any more. What tolerates the taint
 * stays, and so do the pods that belong to the node.
 */
import type { NodeCase, PodFacts, TaintFacts, TolerationFacts } from '../api/release-view.ts';
import { CLOUD_SHUTDOWN_KEY, FORCE_EVICTION_KEY, OUT_OF_SERVICE_KEY } from '../api/release-view.ts';
import { stillCounts } from '../api/life.ts';
import type { Check, Objection } from './checks.ts';
import { clockTime, isOver } from '../api/facts.ts';
import { isOurOutOfService } from '../api/out-of-service.ts';
import { knownVolumes, kubeletSilent, nodeDown, notDaemon, notMirror, nothingReappeared, objection } from './checks.ts';
import type { Way } from './way.ts';
import { never } from './way.ts';

export interface Assertion {
  taint: TaintFacts;
  /** How NodeFence calls this kind of evidence. */
  source: 'ForceEvictionTaint' | 'OutOfServiceTaint' | 'CloudShutdownTaint';
  by: string;
}

interface Kind {
  key: string;
  effect: string;
  source: Assertion['source'];
  /** Why it is not listened to, if it is not. */
  deaf: (nodeCase: NodeCase) => Objection | undefined;
}

const kinds: readonly Kind[] = [
  {
    key: FORCE_EVICTION_KEY,
    effect: 'NoExecute',
    source: 'ForceEvictionTaint',
    deaf: ({ gates }) =>
      gates.ForceEviction ? undefined : objection('GateOff', 'the feature gate ForceEviction is off'),
  },
  {
    key: OUT_OF_SERVICE_KEY,
    effect: 'NoExecute',
    source: 'OutOfServiceTaint',
    deaf: (nodeCase) => unlisted(nodeCase, 'OutOfService'),
  },
  {
    // The effect with which cloud providers set it.
    key: CLOUD_SHUTDOWN_KEY,
    effect: 'NoSchedule',
    source: 'CloudShutdownTaint',
    deaf: (nodeCase) => unlisted(nodeCase, 'CloudShutdown'),
  },
];

const checks: readonly Check[] = [
  notMirror,
  asserted,
  assertedSinceLife,
  notDaemon,
  notTolerated,
  nodeDown,
  kubeletSilent,
];

function unlisted({ policy }: NodeCase, name: string): Objection | undefined {
  if (policy.kind === 'one' && policy.policy.assertions.includes(name)) return undefined;
  return objection('NoAssertion', `no policy in force has ${name} among its assertions`);
}

/** What we say ourselves is nobody else's word. */
function saidIn({ node }: NodeCase): TaintFacts[] {
  return (node?.taints ?? []).filter((taint) => !isOurOutOfService(taint));
}

/** The assertion that is listened to; the first in the order above. */
export function assertionOf(nodeCase: NodeCase): Assertion | undefined {
  for (const { key, effect, source, deaf } of kinds) {
    const taint = saidIn(nodeCase).find((one) => one.key === key && one.effect === effect);
    if (taint === undefined || deaf(nodeCase) !== undefined) continue;
    return { taint, source, by: recordedAuthor(nodeCase, source) ?? authorOf(nodeCase, key) };
  }
  return undefined;
}

/** The API server knows who wrote the list last, not each taint: after our own quarantine that would be ourselves. */
function recordedAuthor({ node, fence }: NodeCase, source: Assertion['source']): string | undefined {
  const evidence = fence?.status.incident === undefined ? [] : fence.status.evidence;
  return evidence.findLast((item) => item.source === source && item.bootId === node?.bootId)?.by;
}

function authorOf({ node }: NodeCase, key: string): string {
  return node?.taintedBy === undefined ? `taint ${key}` : `taint ${key}, set by ${node.taintedBy}`;
}

function asserted(nodeCase: NodeCase): Objection | undefined {
  if (assertionOf(nodeCase) !== undefined) return undefined;
  for (const { key, effect, deaf } of kinds) {
    const taint = saidIn(nodeCase).find((one) => one.key === key);
    if (taint === undefined) continue;
    if (taint.effect !== effect) {
      return objection('TaintEffect', `the taint ${key} has the effect ${taint.effect}: write ${key}:${effect}`);
    }
    return deaf(nodeCase);
  }
  return objection('NoAssertion', 'nobody has asserted that nothing runs on the node');
}

/** Whoever set it spoke of the machine as it was then: a kubelet that has lived since is not what they meant (S35). */
function assertedSinceLife(nodeCase: NodeCase): Objection | undefined {
  const { node, fence } = nodeCase;
  const assertion = assertionOf(nodeCase);
  const known = fence?.status.incident === undefined ? [] : fence.status.evidence;
  const recorded = known.findLast(({ source }) => source === assertion?.source);
  if (recorded?.signs === undefined || stillCounts(recorded, nodeCase)) return nothingReappeared(nodeCase);
  const again = 'take it away, and set it again when nothing runs there';
  return objection('KubeletAlive', `the kubelet of ${node?.name} has lived since the taint was set: ${again}`);
}

/** As Kubernetes reads tolerations: of several that match, the shortest time counts; one without a time has none. */
function notTolerated(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  const assertion = assertionOf(nodeCase);
  if (assertion === undefined) return undefined;
  const { taint } = assertion;
  const matching = pod.tolerations.filter((toleration) => tolerates(toleration, taint));
  if (matching.length === 0) return undefined;
  const seconds = matching.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  if (seconds.length === 0) return objection('Tolerated', `it tolerates the taint ${taint.key}`);
  const sinceMs = assertedSinceMs(nodeCase, assertion);
  const untilMs = sinceMs + Math.max(0, Math.min(...seconds)) * 1000;
  if (nodeCase.serverNowMs >= untilMs) return undefined;
  return objection('Tolerated', `it tolerates the taint ${taint.key} until ${clockTime(untilMs)}`, untilMs);
}

/** Most who set a taint leave out when; then it counts from when we first recorded it. */
export function assertedSinceMs({ fence, serverNowMs }: NodeCase, { taint, source }: Assertion): number {
  const written = Date.parse(taint.timeAdded ?? '');
  if (!Number.isNaN(written)) return written;
  const seen = fence?.status.evidence.findLast((item) => item.source === source)?.observedAt;
  return seen === undefined ? serverNowMs : Date.parse(seen);
}

export function tolerates(toleration: TolerationFacts, taint: TaintFacts): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key === '') return operator === 'Exists';
  if (key !== taint.key) return false;
  return operator === 'Exists' || value === (taint.value ?? '');
}

/** Whether the taint would have it go at some time: what belongs to the node or tolerates for ever stays. */
export function isEvictable(nodeCase: NodeCase, pod: PodFacts): boolean {
  if (isOver(pod) || notMirror(nodeCase, pod) !== undefined || notDaemon(nodeCase, pod) !== undefined) return false;
  const tolerated = notTolerated(nodeCase, pod);
  return tolerated === undefined || tolerated.untilMs !== undefined;
}

/** The word is given, and nothing that is known of the node speaks against it. */
function isAsserted(nodeCase: NodeCase): boolean {
  if (assertionOf(nodeCase) === undefined) return false;
  return (nodeDown(nodeCase) ?? assertedSinceLife(nodeCase) ?? kubeletSilent(nodeCase)) === undefined;
}

export const byAssertion: Way = {
  name: 'assertion',
  basis: 'Asserted',
  checks,
  by: (nodeCase) => assertionOf(nodeCase)?.by,
  frees: knownVolumes,
  podStays: false,
  restsOnVolumes: false,
  clearsNode: isAsserted,
  toleratesLife: never,
  grounds: (nodeCase) => {
    const taint = assertionOf(nodeCase)?.taint;
    return { basis: 'Asserted', ...(taint && { taint: { key: taint.key, effect: taint.effect } }) };
  },
  stillStands: (nodeCase) => assertionOf(nodeCase) !== undefined,
  // That the gate is off explains a lot to whoever has set the taint.
  unopened: ['NoAssertion'],
};
