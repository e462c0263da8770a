/**
 * What the API server fills in where a policy leaves something out, and the words that its fields can have. The schemas
 * take them from here, and so does the operator, which does not load the schemas.
 */
export const MODES = ['Enforce', 'DryRun', 'Paused', 'Approve'] as const;
export const POD_DELETION_POLICIES = [
  'do-nothing',
  'delete-statefulset-pod',
  'delete-deployment-pod',
  'delete-both-statefulset-and-deployment-pod',
] as const;
export const ATTACHMENT_RECOVERY_POLICIES = ['never', 'wait', 'immediate'] as const;
export const ASSERTIONS = ['OutOfService', 'CloudShutdown'] as const;
/** What a remedy can be; each is a field of it. */
export const REMEDY_ACTIONS = ['podTemplate', 'fence', 'cordon', 'uncordon', 'drain', 'deleteMachine'] as const;

export const DRAIN_POLICIES = [
  'block-if-contains-last-replica',
  'allow-if-replica-is-stopped',
  'always-allow',
  'block-for-eviction',
  'block-for-eviction-if-contains-last-replica',
] as const;
export const ENFORCEMENTS = ['Auto', 'Enforce', 'Observe'] as const;
export const STORAGE_SYSTEMS = ['longhorn'] as const;

export const PRIORITY_DEFAULT = 0;

export const BUDGET_POLICIES = ['Respect', 'ReleaseAfterFence'] as const;
export const REMEDY_DEFAULTS = {
  mode: 'Enforce',
  condition: { for: '5s' },
  lease: { staleFor: '12s' },
  rung: { period: '3m' },
  fence: {
    isolateAfter: '30s',
    powerManagementAfter: '5m',
    bootTimeout: '10m',
    retries: 3,
    restarts: 2,
    kdump: { enabled: false, timeout: '5m' },
    powerWatch: { every: '5s' },
    machineRemoved: false,
    powerOnFoundOff: true,
    markOutOfService: true,
  },
  release: {
    podDeletion: 'do-nothing',
    volumeAttachmentRecovery: 'never',
    budgets: 'ReleaseAfterFence',
    riskAfterFailedFence: false,
  },
  storm: { maxUnresponsive: '40%', maxConcurrent: 1, podsPerMinute: 300, cooldown: '5m' },
  return: { soak: '30s', backoff: 2, maxSoak: '1h' },
  alarm: { count: 3, within: '24h' },
} as const;

export const DRAIN_DEFAULTS = {
  policy: 'block-if-contains-last-replica',
  storage: 'longhorn',
  namespace: 'longhorn-system',
  enforcement: 'Auto',
} as const;
