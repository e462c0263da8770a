/** What the word of a device is weighed against: the life of its node, and of others whose devices cannot say whose power they are. */
import type { DeviceMemory } from '../act/device-memory.ts';
import type { DoubtAbout } from '../api/power.ts';
import type { LeaseSign } from '../api/release-view.ts';
import { doubtAbout } from '../fence/belief.ts';
import type { Observer } from '../observe/observer.ts';

export function doubtBy(observer: Observer, devices: DeviceMemory): DoubtAbout {
  const othersThan = (node: string): { name: string; lease: LeaseSign }[] =>
    [...devices.blindNodes].flatMap((name) => {
      const lease = name === node ? undefined : observer.leaseSign(name);
      return lease === undefined ? [] : [{ name, lease }];
    });
  return ({ name, ready }, answer, about) =>
    doubtAbout(answer, {
      ...about,
      ready,
      lease: observer.leaseSign(name),
      ...(about.cutForMs === undefined ? {} : { others: othersThan(name) }),
    });
}
