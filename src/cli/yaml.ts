/**
 * YAML as we print it. kubectl and helm read YAML 1.1, in which a bare `off` is false and `012` is ten: whatever such a
 * reader would take for something else than a text is quoted (USE-3). Only here is YAML made from values.
 */
import { stringify } from 'yaml';

export function toYaml(value: unknown): string {
  return stringify(value, { compat: 'yaml-1.1', lineWidth: 0, aliasDuplicateObjects: false });
}

/** Several documents in one stream. */
export function toYamlStream(values: readonly unknown[]): string {
  return values.map((value) => `---\n${toYaml(value)}`).join('');
}
