/** Identifiers that kubelets and people write, in the room that a record has for them: bounded where they are read, on every side alike. */
import { hash } from './hash.ts';

/** As it is; or, where it is too long, cut and still told apart from others. */
export function boundedName(name: string, maxLength: number): string {
  return name.length <= maxLength ? name : `${name.slice(0, maxLength - 14)}~${hash(name)}`;
}

const bootIdLength = 64;

/** Which boot of its machine a node reports. */
export function bootIdOf(info: { bootID?: string } | undefined): string {
  return boundedName(info?.bootID ?? '', bootIdLength);
}
