/** A time as somebody wrote it, by whom we are to be held back: what is none holds too, and says what to write. */

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Without `atMs` it is none. */
export function timeWritten(written: string): { atMs?: number; shown: string } {
  const atMs = rfc3339.test(written) ? Date.parse(written) : Number.NaN;
  const shown = JSON.stringify(written.slice(0, 64));
  return Number.isNaN(atMs) ? { shown } : { atMs, shown };
}
