/** Which devices have to say off before something rests on it: those that the fence has switched off, by its configuration. */
import type { Level, Method } from '../api/fence-config.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { DeviceQuestion } from '../api/steps.ts';

export function powerQuestion({ fence, config, serverNowMs }: NodeCase): DeviceQuestion {
  const stored = fence?.status.fence;
  // A machine that its provider removes stays off when its fence has ended.
  const isThere = stored?.phase === 'off' || stored?.phase === 'finished';
  const methods = isThere && config.ok ? switchedOff(config.config.powerManagement[stored.level]) : [];
  if (stored === undefined) return { what: 'power', methods };
  return { what: 'power', methods, offForMs: Math.max(0, serverNowMs - Date.parse(stored.stepStartedAt)) };
}

/** A cordon is no device. */
export function storageQuestion({ fence, config }: NodeCase): DeviceQuestion {
  const stored = fence?.status.fence;
  const methods =
    stored?.phase === 'isolated' && config.ok
      ? switchedOff(config.config.isolation[stored.level]).filter(({ storage = [] }) => storage.length > 0)
      : [];
  return { what: 'storage', methods };
}

function switchedOff(level: Level | undefined): Method[] {
  return (level?.off ?? []).filter(({ action }) => action === 'off');
}
