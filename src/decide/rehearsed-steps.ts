/** What a rehearsed decision would have done, in words, and where the rehearsal stands after it. */
import { clockTime } from '../api/facts.ts';
import { MAX_REHEARSED, MAX_RELEASED_PODS } from '../api/fence-names.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { REHEARSED } from '../api/reasons.ts';
import type { PresentCase } from '../api/release-view.ts';
import { actsOf } from '../api/steps.ts';
import { powerSays } from '../fence/belief.ts';
import type { ReleaseDecision } from './decide-release.ts';
import type { PlannedRun, RemedyDecision } from './decide-remedy.ts';
import type { Rehearsing } from './rehearsed-case.ts';

export interface Decided {
  nodeCase: PresentCase;
  remedy: RemedyDecision;
  release: ReleaseDecision;
  /** What would begin now. */
  run: PlannedRun | undefined;
}

interface Told {
  reason: keyof (typeof REHEARSED)['reason'];
  message: string;
}

export function withSteps(before: Rehearsing, decided: Decided): Rehearsing {
  const { nodeCase, remedy, release, run } = decided;
  const goes = goesAnew(release.records, before.pods, nodeCase.pods);
  const acts = release.steps.flatMap((step) => actsOf(step).map((act) => act.do));
  const failed = remedy.fence?.phase === 'failed' && before.fence?.phase !== 'failed' ? remedy.fence : undefined;
  const told: Told[] = [
    ...(run === undefined ? [] : wouldRun(nodeCase, run, remedy)),
    ...(acts.includes('quarantine') ? once(before, 'WouldQuarantine', 'would have put the node in quarantine') : []),
    ...goes.map(wouldRelease),
    ...(acts.includes('deleteNode') ? once(before, 'WouldDeleteNode', 'would have deleted the Node object') : []),
    ...(failed === undefined ? [] : [wouldFail(failed)]),
  ];
  const at = clockTime(nodeCase.serverNowMs);
  const news = told.filter(({ message }) => message !== before.steps.at(-1)?.message);
  const { fence, ladders, waitsFor } = standsAt(remedy, release);
  return {
    steps: [...before.steps, ...news.map((step) => ({ at, ...step }))].slice(0, MAX_REHEARSED),
    ladders,
    pods: [...before.pods, ...goes.flatMap(({ pods }) => pods.map(({ uid }) => uid))].slice(0, MAX_RELEASED_PODS),
    ...(fence === undefined ? {} : { fence }),
    ...(waitsFor === undefined ? {} : { waitsFor }),
  };
}

function standsAt(
  { ladders, fence }: RemedyDecision,
  { hold }: ReleaseDecision,
): Pick<Rehearsing, 'ladders' | 'fence' | 'waitsFor'> {
  const waitsFor = hold?.message ?? fence?.waitsFor;
  return {
    ladders: ladders.map(withoutSlot),
    ...(fence === undefined ? {} : { fence: kept(fence) }),
    ...(waitsFor === undefined ? {} : { waitsFor }),
  };
}

/** What is rehearsed takes no slot. */
function withoutSlot(ladder: RemedyDecision['ladders'][number]): Rehearsing['ladders'][number] {
  const { begunAt: _, ...rest } = ladder;
  return rest;
}

function kept(fence: NonNullable<RemedyDecision['fence']>): NonNullable<Rehearsing['fence']> {
  const { phase, level, bootId, switched, cleanResources, restarts, isForGood, startedAt, stepStartedAt } = fence;
  return {
    phase,
    level,
    switched,
    cleanResources,
    restarts,
    startedAt,
    stepStartedAt,
    ...(bootId === undefined ? {} : { bootId }),
    ...(isForGood === undefined ? {} : { isForGood }),
  };
}

/** Nothing of it shows on the node, so that it would be due again with every look. */
function once({ steps }: Rehearsing, reason: Told['reason'], message: string): Told[] {
  return steps.some((step) => step.reason === reason) ? [] : [{ reason, message }];
}

/** Each pod goes once, by the first record that has it. What was let go for real, and is gone, is still on record. */
function goesAnew(
  records: readonly ReleaseRecord[],
  released: readonly string[],
  there: readonly { uid: string }[],
): ReleaseRecord[] {
  const gone = new Set(released);
  const present = new Set(there.map(({ uid }) => uid));
  return records.flatMap((record) => {
    const pods = record.pods.filter(({ uid }) => present.has(uid) && !gone.has(uid));
    for (const { uid } of pods) gone.add(uid);
    return pods.length === 0 ? [] : [{ ...record, pods }];
  });
}

/** Names beyond these are counted. */
const namedAtMost = 10;

function wouldRelease({ pods, basis, podsStay }: ReleaseRecord): Told {
  const names = pods.map(({ namespace, name }) => `${namespace}/${name}`);
  const more = names.length > namedAtMost ? ` and ${names.length - namedAtMost} more` : '';
  const what = `${podsStay ? 'the volumes of ' : ''}${names.slice(0, namedAtMost).join(', ')}${more}`;
  return { reason: 'WouldRelease', message: `would have released ${what} on the basis ${basis}` };
}

function wouldFail({ message = 'its devices did not obey' }: NonNullable<RemedyDecision['fence']>): Told {
  return { reason: 'WouldFail', message: `the fence would have failed: ${message}` };
}

function wouldRun(nodeCase: PresentCase, run: PlannedRun, { ladder }: RemedyDecision): Told[] {
  const why = ladder === undefined ? '' : ` for ${ladder.threshold}`;
  switch (run.do) {
    case 'cordon':
      return [{ reason: 'WouldCordon', message: `would have cordoned the node${why}` }];
    case 'uncordon':
      return [{ reason: 'WouldUncordon', message: `would have uncordoned the node` }];
    case 'drain':
      return [{ reason: 'WouldDrain', message: `would have drained the node${why}` }];
    case 'runJob':
      return [{ reason: 'WouldRunJob', message: `would have run the Job of remedy ${run.job.remedy}${why}` }];
    case 'deleteMachine':
      return [{ reason: 'WouldDeleteMachine', message: `would have deleted its Machine${why}` }];
    case 'switch':
      return run.isQuestion === true ? [] : [wouldSwitch(nodeCase, run, why)];
  }
}

function wouldSwitch(
  nodeCase: PresentCase,
  { method, what }: Extract<PlannedRun, { do: 'switch' }>,
  why: string,
): Told {
  const { name, action } = method;
  if (action !== 'off') {
    const message = what === 'power' ? 'would have switched it on again' : 'would have let it back to its storage';
    return { reason: 'WouldConnect', message: `${message} (${name})` };
  }
  if (what === 'storage') {
    return { reason: 'WouldCutStorage', message: `would have cut it off from its storage${why} (${name})` };
  }
  if (powerSays(nodeCase).says === 'off') {
    return { reason: 'WouldCutPower', message: `would have found its machine off, and told it nothing (${name})` };
  }
  return { reason: 'WouldCutPower', message: `would have cut its power${why} (${name})` };
}
