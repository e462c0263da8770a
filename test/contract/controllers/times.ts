/** The times that the contract is run with, and the same for the simulated controllers. */
import type { ControllerTimings } from '../../../src/world/controllers/timings.ts';
import type { ContractTimes } from './world.ts';

/** Of the stock controllers, scaled down as far as their flags allow. */
export const stockTimes: ContractTimes = {
  // Long enough for a machine that has other things to do than the heartbeats of a fleet.
  graceMs: 16_000,
  monitorMs: 1000,
  tolerationMs: 5000,
  evictionGapMs: 5000,
  attachSyncMs: 5000,
  // They offer no way to change these.
  podGcMs: 20_000,
  quarantineMs: 40_000,
  attachTimeoutMs: 120_000,
  forceDetachMs: 360_000,
};

/** The simulated ones can be told everything. */
export const simulatedTimes: ContractTimes = {
  ...stockTimes,
  podGcMs: 5000,
  quarantineMs: 8000,
  attachTimeoutMs: 10_000,
  forceDetachMs: 15_000,
};

export function timingsFor(times: ContractTimes): Partial<ControllerTimings> {
  return {
    nodeMonitorPeriodMs: times.monitorMs,
    nodeMonitorGraceMs: times.graceMs,
    nodeStartupGraceMs: times.graceMs,
    nodeEvictionRate: 1000 / times.evictionGapMs,
    podGcPeriodMs: times.podGcMs,
    podGcQuarantineMs: times.quarantineMs,
    attachSyncPeriodMs: times.attachSyncMs,
    attachTimeoutMs: times.attachTimeoutMs,
    maxWaitForUnmountMs: times.forceDetachMs,
  };
}
