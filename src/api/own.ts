/**
 * What is stored under a name that others have chosen: a zone, a remedy, a driver or a label may be called `constructor`, which every
 * object has.
 */
export function ownOf<T>(of: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(of, name) ? of[name] : undefined;
}
