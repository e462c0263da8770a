/** Configurations of fences, and facts in which nothing happens, for tests of the automaton. */
import type { FenceConfig, Level, Method } from '../../src/api/fence-config.ts';
import type { FenceFacts, FenceLimits } from '../../src/fence/state.ts';

const cordon: Method = { name: 'cordon', action: 'cordon', driver: 'built-in', parameters: {}, secrets: [] };

function method(name: string): Method {
  const action = name.endsWith('on') ? 'on' : 'off';
  return { name, action, driver: 'agent:fence_test', parameters: { plug: name.replace(/-.*/, '') }, secrets: [] };
}

export function level(...names: string[]): Level {
  const methods = names.map((name) => (name === cordon.name ? cordon : method(name)));
  return { off: methods.filter(({ action }) => action !== 'on'), on: methods.filter(({ action }) => action === 'on') };
}

export const full: FenceConfig = {
  isolation: [level('fc-off')],
  powerManagement: [level('a-off', 'b-off', 'a-on'), level('pdu-off', 'pdu-on')],
  recovery: [level('fc-on')],
};
export const configs: Record<string, FenceConfig> = {
  'isolation and power': { ...full, powerManagement: [level('a-off', 'a-on')] },
  'two levels': { isolation: [], powerManagement: [level('a-off', 'a-on'), level('pdu-off', 'pdu-on')], recovery: [] },
  'power alone': { isolation: [], powerManagement: [level('ipmi-off', 'ipmi-on')], recovery: [] },
  'isolation alone': {
    isolation: [level('fc-off', 'net-off')],
    powerManagement: [],
    recovery: [level('fc-on')],
  },
  'undone by itself': {
    isolation: [level('fc-off')],
    powerManagement: [],
    recovery: [],
  },
  'a cordon as well': { isolation: [], powerManagement: [level('cordon', 'ipmi-off', 'ipmi-on')], recovery: [] },
  'never on again': { isolation: [], powerManagement: [level('ipmi-off')], recovery: [] },
};
export const limits: FenceLimits = {
  isolateAfterMs: 10,
  powerManagementAfterMs: 20,
  bootTimeoutMs: 30,
  retries: 1,
  restarts: 1,
};

export const quiet: FenceFacts = {
  nowMs: 0,
  isBack: false,
  isHarmless: true,
  bootId: 'b1',
  isReleased: false,
  isWorthIt: true,
  isFoundOff: false,
  isAliveSince: false,
  isBraked: false,
  isCalledFor: true,
  mayBeTold: [],
  isStopped: false,
  isPaused: false,
};
