/** The rules about devices, with what they are weighed against: the life of nodes. */
import type { DeviceMemoryOptions } from '../act/device-memory.ts';
import { DeviceMemory } from '../act/device-memory.ts';
import type { LongActsOptions } from '../act/long-acts.ts';
import type { DoubtAbout } from '../api/power.ts';
import { doubtAbout } from '../fence/belief.ts';
import { isDrilled, learn, learnCut, learnNeverOff, learnSwapped, withMemory } from '../fence/memory.ts';
import type { Observer } from '../observe/observer.ts';

/** What the word of a device is worth. */
function doubtBy(observer: Observer): DoubtAbout {
  return ({ name, ready }, answer, about) => doubtAbout(answer, { ...about, ready, lease: observer.leaseSign(name) });
}

/** What devices say is weighed and remembered, and so is what they are told. */
export function weighedBy(
  observer: Observer,
  memory: DeviceMemory,
): Pick<LongActsOptions, 'doubt' | 'hear' | 'saysOn' | 'onCut' | 'onWatch'> {
  return {
    doubt: doubtBy(observer),
    hear: (node, asked, said) => memory.hear(node, asked, { said, by: asked.isKept === true ? 'watch' : 'fence' }),
    saysOn: (node, method) => memory.saysOn(node, method),
    onCut: (node, method) => memory.cut(node, method),
    onWatch: (node, method, state) => memory.watched(node, method, state),
  };
}

/** What is kept of devices. */
export function memoryBy(
  observer: Observer,
  options: Pick<DeviceMemoryOptions, 'client' | 'clock' | 'namespace' | 'isLeading' | 'onProblem' | 'onKept'>,
): DeviceMemory {
  const lifeOf: DeviceMemoryOptions['lifeOf'] = (name) => {
    const { bootId = '', machineId } = observer.view(name).node ?? {};
    const lease = observer.leaseSign(name);
    return { lease, provenForMs: observer.provenForMs(name), bootId, machine: machineId };
  };
  const rivalOf: DeviceMemoryOptions['rivalOf'] = (name, key) => observer.rival(name, key);
  return new DeviceMemory({
    ...options,
    lifeOf,
    rivalOf,
    learn,
    learnCut,
    learnSwapped,
    learnNeverOff,
    recall: withMemory,
    isDrilled,
  });
}
