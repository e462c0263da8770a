import type { Manifest } from './format.ts';
import type { Read } from './reader.ts';
import { plain, problem, whereOf } from './reader.ts';

/** Any Kubernetes object; what is in it is for the API server to judge. */
export const manifest: Read<Manifest> = (place) => {
  const object = plain(place);
  if (typeof object !== 'object' || object === null) return problem(place, 'expected a Kubernetes object');
  const { apiVersion, kind, metadata } = object as Partial<Manifest['object']>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    return problem(place, 'a Kubernetes object needs apiVersion and kind');
  }
  if (typeof metadata?.name !== 'string') return problem(place, 'a Kubernetes object needs metadata.name');
  return { object: object as Manifest['object'], where: whereOf(place) };
};
