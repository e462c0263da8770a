/** Devices whose answers are timed, whoever asks: a device that becomes slow is noticed before its node is. */
import type { Clock } from '../clock.ts';
import type { Device, DeviceAction, DeviceAnswer } from '../devices/device.ts';
import type { DeviceProvider } from '../devices/provider.ts';

export interface Answered {
  /** As methods name it; there are as many as there are agents and clouds, however many nodes there are. */
  driver: string;
  action: DeviceAction;
  outcome: DeviceAnswer['kind'];
  tookMs: number;
}

export function timedDevices(
  provider: DeviceProvider,
  clock: Pick<Clock, 'monotonic'>,
  onAnswer: (answered: Answered) => void,
): DeviceProvider {
  const { allowed } = provider;
  const defaultConfig = provider.defaultConfig?.bind(provider);
  const timed = (device: Device, driver: string): Device => ({
    name: device.name,
    async ask(action, signal) {
      const startedMs = clock.monotonic();
      const answer = await device.ask(action, signal);
      onAnswer({ driver, action, outcome: answer.kind, tookMs: clock.monotonic() - startedMs });
      return answer;
    },
  });
  return {
    async device(node, method, how) {
      const found = await provider.device(node, method, how);
      return found.ok ? { ...found, device: timed(found.device, method.driver) } : found;
    },
    ...(defaultConfig === undefined ? {} : { defaultConfig }),
    ...(allowed === undefined ? {} : { allowed }),
  };
}
