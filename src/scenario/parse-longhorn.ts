/** `spec.cluster.longhorn`: storage with replicas on the disks of the nodes. */
import type { LonghornSpec, LonghornVolume } from '../world/longhorn/spec.ts';
import type { NodeSpec } from './format.ts';
import type { Place, Read } from './reader.ts';
import { fields, flag, list, problem, record, text, whole } from './reader.ts';

interface VolumeFields {
  place: Place;
  name: string;
  sizeGiB?: number;
  replicas?: string[];
  attachedTo?: string;
}

/** As written; which nodes there are is known only when the whole cluster is read. */
export interface LonghornFields {
  place: Place;
  diskGiB?: number;
  rebuildMiBps?: number;
  softAntiAffinity?: boolean;
  volumes?: VolumeFields[];
}

const defaults = { diskGiB: 100, rebuildMiBps: 100, sizeGiB: 10, replicas: 3 };

const volumeFields: Read<VolumeFields> = (place) => ({
  place,
  ...record<Omit<VolumeFields, 'place'>>({ name: text, sizeGiB: whole(1), replicas: list(text), attachedTo: text }, [
    'name',
  ])(place),
});

export const longhornFields: Read<LonghornFields> = (place) => ({
  place,
  ...fields<Required<Omit<LonghornFields, 'place'>>>({
    diskGiB: whole(1),
    rebuildMiBps: whole(1),
    softAntiAffinity: flag,
    volumes: list(volumeFields),
  })(place),
});

export function longhornOf(found: LonghornFields, nodes: readonly NodeSpec[]): LonghornSpec {
  const { volumes = [], diskGiB = defaults.diskGiB, rebuildMiBps = defaults.rebuildMiBps } = found;
  const names = volumes.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problem(found.place, `two volumes are called ${twice}`);
  return {
    diskGiB,
    rebuildMiBps,
    softAntiAffinity: found.softAntiAffinity ?? false,
    volumes: volumes.map((volume) => volumeOf(volume, nodes)),
  };
}

/** Without a list of replicas it has as many as Longhorn makes by itself, on the first nodes. */
function volumeOf(
  { place, name, sizeGiB, replicas, attachedTo }: VolumeFields,
  nodes: readonly NodeSpec[],
): LonghornVolume {
  const known = nodes.map((node) => node.name);
  const placed = replicas ?? known.slice(0, defaults.replicas);
  if (placed.length === 0) problem(place, `volume ${name} has no replica: name at least one node`);
  for (const node of [...placed, ...(attachedTo === undefined ? [] : [attachedTo])]) {
    if (!known.includes(node)) problem(place, `volume ${name}: there is no node ${node}`);
  }
  return {
    name,
    sizeGiB: sizeGiB ?? defaults.sizeGiB,
    replicas: placed,
    ...(attachedTo === undefined ? {} : { attachedTo }),
  };
}
