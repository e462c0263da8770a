/** How a NodeFence is called, how much it holds and where its fence may stand; apart from its schema, so that the operator does not load that. */

export const NODE_FENCE_PREFIX = 'node-fence-';
export const nodeFenceName = (node: string): string => `${NODE_FENCE_PREFIX}${node}`;

/** ConfigMaps of how nodes are fenced, and of what their methods have in common. */
export const CONFIG_PREFIX = 'fence-config-';
export const METHOD_PREFIX = 'fence-method-';
export const TEMPLATE_PREFIX = 'fence-method-template-';
export const isFenceConfig = (name: string): boolean =>
  name.startsWith(CONFIG_PREFIX) || name.startsWith(TEMPLATE_PREFIX);

/** The method of an isolation that cuts nothing: the node is only cordoned. */
export const CORDON_METHOD = 'mark-unschedulable';

/** Where the Jobs of remedies run, and as whom: apart from the operator, its account and the credentials of devices (SEC-3). */
export const REMEDY_NAMESPACE = 'fenceline-remedies';
export const REMEDY_ACCOUNT = 'fenceline-remedies';

/** Where a fence may stand. */
export const FENCE_PHASES = [
  'waiting',
  'isolating',
  'isolated',
  'poweringOff',
  'off',
  'poweringOn',
  'booting',
  'recovering',
  'finished',
  'failed',
] as const;

export const MAX_HISTORY = 100;
export const MAX_DEEDS = 100;
export const MAX_EVIDENCE = 32;
export const MAX_RELEASES = 32;
export const MAX_RELEASED_PODS = 512;
/** More than any kubelet runs. */
export const MAX_QUARANTINED_PODS = 4096;
/** Of so many controllers at most a pod goes that came after the quarantine. */
export const MAX_LATE = 64;
export const MAX_JOBS = 64;
export const MAX_SILENT_BESIDE = 64;
export const MAX_YOUNG_OTHERS = 256;
export const MAX_STUCK = 64;
export const MAX_PROBLEMS = 16;
export const MAX_PROBLEM_TIMES = 50;
/** So many steps of a rehearsal are kept; a ladder that is longer ends there. */
export const MAX_REHEARSED = 64;
