/** What people have for other operators, as files, and what becomes of it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Converted } from '../../src/cli/convert/all.ts';
import { convertAll } from '../../src/cli/convert/all.ts';
import type { Settings } from '../../src/cli/convert/result.ts';
import { ScenarioError } from '../../src/scenario/reader.ts';

const folder = join(import.meta.dirname, 'convert');

export const fixtures = readdirSync(folder)
  .filter((name) => !name.endsWith('.out.yaml'))
  .map((name) => name.replace(/\.yaml$/, ''));

export function fileOf(name: string): string {
  return join(folder, `${name}.yaml`);
}

export function fixture(name: string): string {
  return readFileSync(fileOf(name), 'utf8');
}

/** A fixture with one text in it replaced. */
export function changed(name: string, from: string, to: string): string {
  const text = fixture(name);
  assert.ok(text.includes(from), `${name}: ${from}`);
  return text.replace(from, () => to);
}

/** As the files a.yaml, b.yaml and c.yaml. */
export function convert(texts: readonly string[], settings: Partial<Settings> = {}): Converted {
  const sources = texts.map((text, index) => ({ name: `${'abc'[index]}.yaml`, text }));
  return convertAll(sources, { namespace: 'fenceline', ...settings });
}

export function problemsOf(text: string, settings: Partial<Settings> = {}): readonly string[] {
  try {
    convert([text], settings);
  } catch (error) {
    if (error instanceof ScenarioError) return error.problems;
    throw error;
  }
  return [];
}
