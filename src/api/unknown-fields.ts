/** Fields that mean nothing: the API server drops them unless it is asked to be strict, and what somebody meant is lost with them. */
import type { StructuralSchema } from './crds.ts';
import { nearest } from './nearest.ts';

/** One sentence for each, with the nearest field that means something there. */
export function unknownFields(schema: StructuralSchema, value: unknown, path = ''): string[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? [] : value.flatMap((one, index) => unknownFields(items, one, `${path}[${index}]`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const { properties, additionalProperties } = schema;
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = path === '' ? key : `${path}.${key}`;
    if (additionalProperties !== undefined) return unknownFields(additionalProperties, inner, at);
    // What is not described may hold anything.
    if (properties === undefined) return [];
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (known !== undefined) return unknownFields(known, inner, at);
    if (schema['x-kubernetes-preserve-unknown-fields'] === true) return [];
    return [`${at}: there is no such field; did you mean ${nearest(key, Object.keys(properties))}?`];
  });
}
