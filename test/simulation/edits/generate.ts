/** From a seed: a few edits of objects, right and wrong ones, and now and then a node that fails meanwhile. */
import { customResourceDefinitions, type StructuralSchema } from '../../../src/api/crds.ts';
import { Random } from '../../../src/world/random.ts';
import { Chance } from '../../twins/chance.ts';
import type { Written } from './base.ts';
import { EDITED, keyOf, nodeOf } from './base.ts';
import { lineEdit } from './lines.ts';
import { GONE, placesIn, valueFor } from './values.ts';

export interface Edit {
  /** By kind and name. */
  object: string;
  /** The field; none: the whole object is deleted. */
  path: readonly (string | number)[];
  value: unknown;
  /** Of a ConfigMap: known to be wrong. */
  isWrong?: boolean;
}

export interface Story {
  seed: number;
  edits: Edit[];
  /** A node that is cut off, or loses its power, while the edits are made. */
  trouble?: { node: string; event: 'partition' | 'powerOff'; atMs: number };
}

/** Every so many seeds something fails meanwhile. */
export const TROUBLE_EVERY = 16;

const schemas = new Map<string, StructuralSchema>(
  customResourceDefinitions().map(({ spec: { names, versions } }) => [
    names.kind,
    versions[0]?.schema.openAPIV3Schema.properties?.['spec'] ?? {},
  ]),
);

export function generate(seed: number): Story {
  const chance = new Chance(new Random(seed).stream('edits'));
  const isTroubled = seed % TROUBLE_EVERY === 0;
  // What a node is fenced by matters most while it fails.
  const object = chance.one(
    isTroubled && chance.maybe(0.6) ? EDITED.filter(({ kind }) => kind === 'ConfigMap') : EDITED,
  );
  const others = EDITED.filter(({ kind }) => kind === object.kind || (isFencing(kind) && isFencing(object.kind)));
  const count = chance.one([1, 1, 2, 3]);
  const edits = Array.from({ length: count }, (_, index) =>
    editOf(index === 0 || chance.maybe(0.6) ? object : chance.one(others), chance),
  );
  if (!isTroubled) return { seed, edits };
  const event = chance.one(['partition', 'powerOff'] as const);
  return { seed, edits, trouble: { node: nodeOf(object), event, atMs: chance.between(0, 20) * 1000 } };
}

function isFencing(kind: string): boolean {
  return kind === 'ConfigMap' || kind === 'FenceDevice';
}

function editOf(object: Written, chance: Chance): Edit {
  const of = { object: keyOf(object) };
  if (chance.maybe(0.05)) return { ...of, path: [], value: GONE };
  const schema = schemas.get(object.kind);
  if (schema === undefined) {
    const { entry, value, isWrong } = lineEdit(object, chance);
    return { ...of, path: ['data', entry], value, isWrong };
  }
  const place = chance.one(placesIn(object.spec, schema, ['spec']));
  return { ...of, path: place.path, value: valueFor(place, chance) };
}

/** For people, and the same for the same seed. */
export function describe({ seed, edits, trouble }: Story): string {
  const texts = edits.map(({ object, path, value }) => {
    if (path.length === 0) return `delete ${object}`;
    const shown = value === GONE ? 'is removed' : `= ${JSON.stringify(value).slice(0, 120)}`;
    return `${object} ${path.join('.')} ${shown}`;
  });
  const meanwhile = trouble === undefined ? '' : `; ${trouble.event} ${trouble.node} after ${trouble.atMs / 1000} s`;
  return `EDITS_FROM=${seed} EDITS=1: ${texts.join('; ')}${meanwhile}`;
}
