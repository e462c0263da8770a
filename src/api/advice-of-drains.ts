/** What a drain waits for, and what a person can do about it. */
import type { AdviceFor } from './advice.ts';
import { COMMANDS as c } from './advice.ts';
import type { DRAINING } from './reasons.ts';

export const DRAINING_ADVICE: AdviceFor<typeof DRAINING> = {
  Allowed: { ends: 'it is drained, or uncordoned', can: [c.planDrain] },
  LastReplica: { ends: 'another healthy replica is protected elsewhere', can: [c.planDrain, c.undrain] },
  LastRunningReplica: {
    ends: 'another replica runs elsewhere, or this one has stopped',
    can: [c.planDrain, c.undrain],
  },
  EvictingReplicas: { ends: 'its replicas are rebuilt elsewhere', can: [c.planDrain] },
  NowhereToRebuild: { ends: 'another node has room for the replica', can: [c.planDrain, c.undrain] },
  VolumeInUse: { ends: 'the pod that writes there has left', can: [c.pods, c.planDrain] },
  WaitsForTurn: { ends: 'the other node is drained, or uncordoned', can: [c.status] },
  OwnCordon: { ends: 'the node is back in service, or somebody drains it', can: [c.explain, c.drainAnyway] },
  StateUnknown: { ends: 'the state of its replicas can be read again', can: [c.planDrain] },
};
