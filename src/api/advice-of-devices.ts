/** What makes a device usable for a fence again, and what a person can do about it. */
import type { AdviceFor } from './advice.ts';
import { COMMANDS as c } from './advice.ts';
import type { UNFENCEABLE, WRONG } from './reasons.ts';

export const WRONG_ADVICE: AdviceFor<typeof WRONG> = {
  AnotherMachine: {
    ends: 'its configuration names the right machine, and a check finds that so; until then that device is told nothing',
    can: [
      {
        ...c.where,
        to: `${c.where.to}; if it answers for another node, fenceline check that one too: its device may be the other half of a mix-up`,
      },
      c.check,
    ],
  },
  OffWhileAlive: { ends: 'somebody has looked at it and says so, and a check finds it on', can: [c.check, c.clear] },
  SharedWithAnotherNode: { ends: 'no other node is configured with its address and plug', can: [c.devices, c.check] },
  OutletsSwapped: {
    ends: 'somebody has looked which machine is plugged in where, and says so',
    can: [c.where, c.clear],
  },
  NeverOff: { ends: 'somebody has looked which machine it switches, and says so', can: [c.clear] },
};

export const UNFENCEABLE_ADVICE: AdviceFor<typeof UNFENCEABLE> = {
  NoConfiguration: {
    ends: 'a fence configuration is written for it',
    can: [{ to: 'see which configurations there are', command: 'kubectl get configmaps -n {{namespace}}' }, c.check],
  },
  ConfigurationInvalid: { ends: 'what the message names is mended', can: [c.check] },
  NoDevice: { ends: 'agent, driver, parameter or Secret is as the message says', can: [c.check] },
  DeviceRefused: {
    ends: 'the device accepts the login and the command',
    can: [{ ...c.where, to: 'see in which ConfigMap or Secret its login is, and mend it there' }, c.check],
  },
  DeviceSilent: {
    ends: 'the device answers from where the operator runs',
    can: [c.check, { ...c.leader, to: 'see where the operator runs' }],
  },
  WrongMachine: { ends: 'the device is that of this node, and a check finds that so', can: [c.check, c.clear] },
  NotProven: {
    ends: 'a check of the operator sees it on while the node is alive, an identity is pinned, or several outlets were drilled together',
    can: [c.check, c.drill],
  },
  CutOff: { ends: 'somebody connects it again', can: [c.check, c.devices] },
};
