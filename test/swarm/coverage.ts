/**
 * How often each fault met each state that a fence, a release or a return can be in. What the swarm has never tried together it
 * has not tried, and says so.
 */
import { FENCE_PHASES } from '../../src/api/fence-names.ts';
import { BASES, RETURN_STAGES } from '../../src/api/node-fence.ts';
import { bmcFaults } from '../../src/world/machines/bmc.ts';
import type { ClusterState } from '../../src/scenario/cluster-state.ts';
import type { Invariant } from '../../src/scenario/checkers/checker.ts';
import type { Act } from '../../src/scenario/format.ts';
import { apiActs, apiFaults, detachFaults, nodeActs, operatorActs, zoneActs } from '../../src/scenario/format.ts';

export const situations = [
  'nothing',
  ...FENCE_PHASES.map((phase) => `fence ${phase}`),
  ...BASES.map((basis) => `basis ${basis}`),
  ...RETURN_STAGES.map((stage) => `return ${stage}`),
] as const;

const objects = ['NodeFence', 'RemedyPolicy', 'ConfigMap', 'FenceDevice', 'Node'];
const isFault = (fault: string): boolean => fault !== 'none';

export const faults = [
  ...nodeActs,
  ...operatorActs,
  ...zoneActs,
  ...apiActs,
  ...bmcFaults.filter(isFault).map((fault) => `device ${fault}`),
  ...apiFaults.filter(isFault).map((fault) => `api ${fault}`),
  ...detachFaults.filter(isFault).map((fault) => `detach ${fault}`),
  ...objects.map((kind) => `apply ${kind}`),
  ...objects.filter((kind) => kind !== 'Node').map((kind) => `delete ${kind}`),
  'taint',
  'untaint',
  'condition',
  'clockSkew',
  'swapDevices',
];

interface Met {
  phase?: string;
  bases: string[];
  stage?: string;
}

export class Coverage {
  readonly counts = new Map<string, number>();

  /** Sees every act of a run, and breaks nothing. */
  observer(): Invariant {
    return {
      id: 'coverage',
      check: ({ state }) => ({
        onAct: (act, node) => {
          const fault = nameOf(act);
          if (fault === undefined) return;
          for (const met of situationsOf(fencesOf(state, aboutOf(act, node)))) this.add(fault, met);
        },
      }),
    };
  }

  add(fault: string, situation: string, times = 1): void {
    const key = `${fault} / ${situation}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + times);
  }

  of(fault: string, situation: string): number {
    return this.counts.get(`${fault} / ${situation}`) ?? 0;
  }

  never(): string[] {
    return faults.flatMap((fault) =>
      situations.filter((situation) => this.of(fault, situation) === 0).map((situation) => `${fault} / ${situation}`),
    );
  }

  /** Rows are faults, columns what they met; a point is a pair that was never reached. */
  table(): string {
    const heads = situations.map((name) => name.replace(/^(fence|basis|return) /, '').slice(0, 9));
    const row = (name: string, cells: readonly string[]): string =>
      name.padEnd(24) + cells.map((cell) => cell.padStart(10)).join('');
    const lines = faults.map((fault) =>
      row(
        fault,
        situations.map((situation) => String(this.of(fault, situation) || '·')),
      ),
    );
    const never = this.never().length;
    const all = faults.length * situations.length;
    return [row('', heads), ...lines, '', `${all - never} of ${all} pairs were reached, ${never} never`].join('\n');
  }
}

function nameOf(act: Act): string | undefined {
  switch (act.do) {
    case 'device':
    case 'detach':
      return isFault(act.fault) ? `${act.do} ${act.fault}` : undefined;
    case 'apiFault':
      return isFault(act.fault) ? `api ${act.fault}` : undefined;
    case 'apply':
      return `apply ${act.manifest.object.kind}`;
    case 'delete':
      return `delete ${act.kind}`;
    default:
      return act.do;
  }
}

/** Undefined: it is about all of them. */
function aboutOf(act: Act, node: string | undefined): string | undefined {
  if (node !== undefined) return node;
  const name = act.do === 'apply' ? act.manifest.object.metadata.name : act.do === 'delete' ? act.name : '';
  return /node-\d+/.exec(name)?.[0];
}

function fencesOf(state: ClusterState, node: string | undefined): { status?: unknown }[] {
  return [...state.fences.values()].filter(({ spec }) => node === undefined || spec?.node === node);
}

/** What the records say that they are in. */
export function situationsOf(fences: readonly { status?: unknown }[]): string[] {
  const met = fences
    .map(metIn)
    .flatMap(({ phase, bases, stage }) => [
      ...(phase === undefined ? [] : [`fence ${phase}`]),
      ...bases.map((basis) => `basis ${basis}`),
      ...(stage === undefined ? [] : [`return ${stage}`]),
    ]);
  return met.length === 0 ? ['nothing'] : [...new Set(met)];
}

function metIn(fence: { status?: unknown }): Met {
  const {
    fence: own,
    releases = [],
    return: back,
  } = (fence.status ?? {}) as {
    fence?: { phase?: string };
    releases?: { basis: string; endedAt?: string }[];
    return?: { stage?: string };
  };
  return {
    bases: releases.filter(({ endedAt }) => endedAt === undefined).map(({ basis }) => basis),
    ...(own?.phase === undefined ? {} : { phase: own.phase }),
    ...(back?.stage === undefined ? {} : { stage: back.stage }),
  };
}
