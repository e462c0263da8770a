/** A node that is being fenced, for tests of what its automaton is told. */
import assert from 'node:assert/strict';
import { timeOf } from '../../src/api/facts.ts';
import { deviceHash } from '../../src/api/fence-config.ts';
import type { NodeFenceStatus } from '../../src/api/node-fence.ts';
import type { LiveNode, NodeCase } from '../../src/api/release-view.ts';
import { fenceOf } from '../../src/decide/fence-of.ts';
import type { FenceDecision } from '../../src/fence/decide-fence.ts';
import { level } from './fence-steps.ts';
import { aCase, aFence, aNode, anIncident, aRemedy, inForce, nowMs } from './release-case.ts';

export type Fence = NonNullable<NodeFenceStatus['fence']>;
export type Entry = Fence['switched'][number];

const fc = level('fc-off');
export const ipmi = level('ipmi-off', 'ipmi-on');
export const config = { isolation: [fc], powerManagement: [ipmi], recovery: [] };
export const minutesAgo = (minutes: number): string => timeOf(nowMs - minutes * 60_000);

export function entryOf(step: Entry['step'], change: Partial<Entry> = {}): Entry {
  const method = (step === 'isolation' ? fc : ipmi).off[0]!;
  const device = deviceHash(method) ?? assert.fail();
  return { step, method: method.name, device, storage: [], commandSentAt: minutesAgo(8), ...change };
}

export function aStored(phase: Fence['phase'], change: Partial<Fence> = {}): Fence {
  return {
    step: phase === 'recovering' ? 'recovery' : 'power-management',
    status: 'running',
    phase,
    level: 0,
    index: 0,
    retries: 0,
    restarts: 0,
    startedAt: minutesAgo(9),
    stepStartedAt: minutesAgo(7),
    bootId: 'boot-1',
    cleanResources: true,
    switched: [],
    ...change,
  };
}

export function acting(change: Parameters<typeof inForce>[0] = {}): NodeCase['policy'] {
  return inForce({ remedy: aRemedy(), ...change });
}

export interface Change extends Omit<Partial<NodeCase>, 'node' | 'fence'> {
  node?: Partial<LiveNode>;
  status?: Partial<NodeFenceStatus>;
}

export function fenced(fence: Fence, { node, status = {}, ...change }: Change = {}): NodeCase & { node: LiveNode } {
  const record = aFence({ incident: anIncident(), ...status, fence });
  return { ...aCase({ config: { ok: true, config }, fence: record, ...change }), node: aNode(node) };
}

export function decided(nodeCase: NodeCase & { node: LiveNode }, isRequested = false): FenceDecision {
  const status = nodeCase.fence?.status ?? assert.fail();
  return fenceOf(nodeCase, { status, ladder: undefined, isWanted: true, isRequested });
}
