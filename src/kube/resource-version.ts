/**
 * Order of resourceVersions. Kubernetes defines them as decimal numbers of any size that grow with every write to the
 * collection; comparing by length and then by digits needs no big numbers.
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function isVersion(text: unknown): text is string {
  return typeof text === 'string' && /^[1-9][0-9]*$/.test(text);
}
