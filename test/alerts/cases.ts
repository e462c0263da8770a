/** For each alert when it fires, with what whoever is woken reads first, and what it must not fire for. One sample is a minute. */
export interface Case {
  /** By series, as promtool writes values. */
  fires: Readonly<Record<string, string>>;
  atMinute: number;
  summary: string;
  labels?: Readonly<Record<string, string>>;
  /** When it fires too, with what is read then. */
  also?: readonly { series: Readonly<Record<string, string>>; atMinute: number; summary: string }[];
  /** What is as it should be, or has not lasted for long enough. */
  quiet: readonly { series: Readonly<Record<string, string>>; atMinute: number }[];
}

const held = (reason: string): string => `fenceline_held_nodes{reason="${reason}"}`;
const draining = (reason: string): string => `fenceline_draining_nodes{reason="${reason}"}`;
const releases = (le: string): string => `fenceline_release_seconds_bucket{basis="PowerOff",le="${le}"}`;
const released = 'fenceline_release_seconds_count{basis="PowerOff"}';
/** The same of one process: what it has counted goes with it. */
const inPod = (series: string, pod: string): string => series.replace('{', `{pod="${pod}",`);
const late = (count: number): string => `${count} pod(s) went more than five seconds after they might have gone.`;
const device = (le: string): string =>
  `fenceline_device_seconds_bucket{driver="agent:fence_ipmilan",action="status",outcome="status",le="${le}"}`;
const two = (name: string, one: string, other: string): Record<string, string> => ({
  [`${name}{pod="a"}`]: one,
  [`${name}{pod="b"}`]: other,
});

export const cases: Readonly<Record<string, Case>> = {
  FencelineFencingFailed: {
    fires: { 'fenceline_fences{phase="failed"}': '0 2x10' },
    atMinute: 4,
    summary: 'The fence of 2 node(s) has failed, and their pods and volumes stay.',
    quiet: [
      { series: { 'fenceline_fences{phase="failed"}': '0 1 1 0x10' }, atMinute: 4 },
      { series: { 'fenceline_fences{phase="poweringOff"}': '1x10' }, atMinute: 8 },
    ],
  },
  FencelineNeverOff: {
    fires: { 'fenceline_alarms{reason="NeverOff"}': '1x3' },
    atMinute: 1,
    summary: 'A node was never off, although its device said so; two may have written to what was released from it.',
    quiet: [{ series: { 'fenceline_alarms{reason="RepeatedTrouble"}': '1x3' }, atMinute: 1 }],
  },
  FencelineAlarm: {
    fires: { 'fenceline_alarms{reason="RepeatedTrouble"}': '1x5' },
    atMinute: 2,
    labels: { reason: 'RepeatedTrouble' },
    summary: 'A person should look at 1 node(s), RepeatedTrouble.',
    quiet: [{ series: { 'fenceline_alarms{reason="FenceInError"}': '1x5' }, atMinute: 3 }],
  },
  FencelineAwaitingApproval: {
    fires: { [held('AwaitingApproval')]: '1x5' },
    atMinute: 2,
    summary: '1 node(s) wait for somebody to approve what is about to be done.',
    quiet: [{ series: { [held('Paused')]: '1x5' }, atMinute: 4 }],
  },
  FencelineStormBrake: {
    fires: { [held('StormLimit')]: '30x5', [held('ZoneStormLimit')]: '10x5' },
    atMinute: 2,
    summary: 'The brake is on, 40 node(s) in trouble are left as they are.',
    quiet: [{ series: { [held('ConcurrencyLimit')]: '3x5' }, atMinute: 4 }],
  },
  FencelineHeldTooLong: {
    fires: { [held('ControlPlaneQuorum')]: '1x30' },
    atMinute: 16,
    labels: { reason: 'ControlPlaneQuorum' },
    summary: 'Nothing is done about 1 node(s) in trouble for 15 minutes, ControlPlaneQuorum.',
    quiet: [
      { series: { [held('LookingAround')]: '1x14' }, atMinute: 14 },
      { series: { [held('DryRun')]: '1x60', [held('Stopped')]: '1x60', [held('StormLimit')]: '1x60' }, atMinute: 50 },
    ],
  },
  FencelineHeldByPeople: {
    fires: { [held('Stopped')]: '1x300' },
    atMinute: 250,
    labels: { reason: 'Stopped' },
    summary: 'Somebody keeps us from 1 node(s) in trouble for hours, Stopped.',
    quiet: [
      { series: { [held('Maintenance')]: '1x300' }, atMinute: 230 },
      { series: { [held('DryRun')]: '1x300' }, atMinute: 290 },
    ],
  },
  FencelinePaused: {
    fires: two('fenceline_paused', '1x500', '1x500'),
    atMinute: 490,
    summary: 'Everything is paused for hours.',
    quiet: [{ series: { fenceline_paused: '1x400 0x200' }, atMinute: 500 }],
  },
  FencelinePodsStuck: {
    fires: { 'fenceline_stuck_pods{reason="VolumeUnknown"}': '3x30' },
    atMinute: 16,
    labels: { reason: 'VolumeUnknown' },
    summary: '3 pod(s) should be gone and are not, VolumeUnknown.',
    quiet: [{ series: { 'fenceline_stuck_pods{reason="TimeNotUp"}': '3x10' }, atMinute: 16 }],
  },
  FencelineReleaseRefused: {
    fires: { 'fenceline_release_refusals_total{why="forbidden"}': '0 1+1x10' },
    atMinute: 5,
    summary: 'The API server forbids what the operator is about to do.',
    quiet: [{ series: { 'fenceline_release_refusals_total{why="changed"}': '0+1x10' }, atMinute: 5 }],
  },
  FencelineReleaseSlow: {
    // The first release that there ever was.
    fires: { [released]: '_x5 4x60', [releases('5')]: '_x5 1x60' },
    atMinute: 7,
    summary: late(3),
    also: [
      // One more than an hour ago.
      { series: { [released]: '4x80 5x40', [releases('5')]: '1x80 1x40' }, atMinute: 90, summary: late(1) },
      // Its container has begun anew, and had let more go late before than after.
      { series: { [released]: '9x80 _x3 2x40', [releases('5')]: '1x80 _x3 1x40' }, atMinute: 90, summary: late(1) },
      // The same where it has let go as many in time since.
      { series: { [released]: '3x80 _x3 9x40', [releases('5')]: '1x80 _x3 8x40' }, atMinute: 90, summary: late(1) },
      // Another pod leads now.
      {
        series: {
          [inPod(released, 'a')]: '9x80',
          [inPod(releases('5'), 'a')]: '1x80',
          [inPod(released, 'b')]: '_x84 2x40',
          [inPod(releases('5'), 'b')]: '_x84 1x40',
        },
        atMinute: 90,
        summary: late(1),
      },
      // Both have, each its own.
      {
        series: {
          [inPod(released, 'a')]: '4x80 5x40',
          [inPod(releases('5'), 'a')]: '1x120',
          [inPod(released, 'b')]: '_x84 2x40',
          [inPod(releases('5'), 'b')]: '_x84 1x40',
        },
        atMinute: 90,
        summary: late(2),
      },
    ],
    quiet: [
      { series: { [released]: '_x5 4x60', [releases('5')]: '_x5 4x60' }, atMinute: 7 },
      { series: { [released]: '4x200', [releases('5')]: '1x200' }, atMinute: 90 },
      // It has begun anew, and nothing was late since; nor an hour and some minutes after that.
      { series: { [released]: '9x80 _x3 2x40', [releases('5')]: '1x80 _x3 2x40' }, atMinute: 90 },
      { series: { [released]: '9x80 _x3 2x99', [releases('5')]: '1x80 _x3 1x99' }, atMinute: 155 },
      {
        series: {
          [inPod(released, 'a')]: '9x80',
          [inPod(releases('5'), 'a')]: '1x80',
          [inPod(released, 'b')]: '_x84 2x40',
          [inPod(releases('5'), 'b')]: '_x84 2x40',
        },
        atMinute: 90,
      },
    ],
  },
  FencelineDeviceUnreachable: {
    fires: { 'fenceline_unfenceable_nodes{reason="DeviceSilent"}': '2x30' },
    atMinute: 16,
    labels: { reason: 'DeviceSilent' },
    summary: '2 node(s) could not be fenced if they failed now, DeviceSilent.',
    quiet: [{ series: { 'fenceline_unfenceable_nodes{reason="DeviceSilent"}': '2x10' }, atMinute: 16 }],
  },
  FencelineDeviceSlow: {
    fires: { [device('10')]: '0+0x70', [device('30')]: '0+6x70', [device('+Inf')]: '0+6x70' },
    atMinute: 65,
    labels: { driver: 'agent:fence_ipmilan' },
    summary: 'Devices of agent:fence_ipmilan take 28s to answer.',
    quiet: [
      { series: { [device('10')]: '0+6x70', [device('30')]: '0+6x70', [device('+Inf')]: '0+6x70' }, atMinute: 65 },
    ],
  },
  FencelineNoLeader: {
    fires: two('fenceline_leading', '0x10', '0x10'),
    atMinute: 4,
    summary: 'No operator leads.',
    quiet: [
      { series: two('fenceline_leading', '1 0 0x10', '0 0 1x10'), atMinute: 4 },
      { series: two('fenceline_leading', '1x10', '0x10'), atMinute: 4 },
    ],
  },
  FencelineViewStale: {
    fires: { 'fenceline_view_age_seconds{resource="nodes"}': '5 90+60x10' },
    atMinute: 4,
    labels: { resource: 'nodes' },
    summary: 'An instance of the operator has not seen nodes for 4m 30s.',
    quiet: [{ series: { 'fenceline_view_age_seconds{resource="nodes"}': '5 90 70 5x10' }, atMinute: 4 }],
  },
  FencelineClockOff: {
    fires: { fenceline_api_clock_off_seconds: '-600x30' },
    atMinute: 12,
    summary: 'The clock of an API server is off by 10m 0s.',
    quiet: [{ series: { fenceline_api_clock_off_seconds: '600x5 0x30' }, atMinute: 12 }],
  },
  FencelineDrainStuck: {
    fires: { [draining('NowhereToRebuild')]: '1x30' },
    atMinute: 16,
    labels: { reason: 'NowhereToRebuild' },
    summary: 'The drain of 1 node(s) will not end by itself, NowhereToRebuild.',
    quiet: [{ series: { [draining('EvictingReplicas')]: '1x30' }, atMinute: 20 }],
  },
  FencelineDrainBlocked: {
    fires: { [draining('EvictingReplicas')]: '1x200' },
    atMinute: 125,
    labels: { reason: 'EvictingReplicas' },
    summary: 'The drain of 1 node(s) waits for hours, EvictingReplicas.',
    quiet: [
      { series: { [draining('EvictingReplicas')]: '1x100' }, atMinute: 125 },
      { series: { [draining('Allowed')]: '1x200', [draining('OwnCordon')]: '1x200' }, atMinute: 190 },
    ],
  },
};
