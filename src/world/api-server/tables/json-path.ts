/** The part of JSONPath that printer columns use: members, indices, and a filter by one member. */
import { isRecord } from '../object.ts';

const step =
  /^(?:\.([A-Za-z0-9_-]+(?:\\\.[A-Za-z0-9_-]+)*)|\['([^']+)'\]|\[(\d+|\*)\]|\[\?\(@\.([\w.-]+)\s*==\s*["']([^"']*)["']\)\])/;

/** All values at the path; none where the object has no such place. */
export function valuesAt(object: unknown, path: string): unknown[] {
  let values: unknown[] = [object];
  let rest = path.startsWith('.') || path.startsWith('[') ? path : `.${path}`;
  while (rest !== '' && rest !== '.') {
    const found = step.exec(rest);
    if (found === null) return [];
    const [whole, member, quoted, index, filterKey, filterValue] = found;
    rest = rest.slice(whole.length);
    const key = member?.replaceAll('\\.', '.') ?? quoted;
    values = values.flatMap((value) => {
      if (key !== undefined) return isRecord(value) && value[key] !== undefined ? [value[key]] : [];
      if (!Array.isArray(value)) return [];
      if (filterKey !== undefined) return value.filter((item) => valuesAt(item, filterKey)[0] === filterValue);
      return index === '*' ? value : value.slice(Number(index), Number(index) + 1);
    });
  }
  return values;
}
