/** The ports of the kubelets of a simulated cluster: a machine that answers does so at once, and who waits for another waits. */
import type { Clock } from '../clock.ts';
import type { Knock, Knocked } from '../kube/knock.ts';

export type PortAt = (address: string) => Knocked;

export function simulatedDoors(portAt: PortAt, clock: Clock): Knock {
  return ({ address }, timeoutMs) =>
    new Promise((resolve) => {
      const found = portAt(address);
      clock.after(found === 'silent' ? timeoutMs : 0, () => resolve(found));
    });
}
