/** Pages that are made from the code; `npm run generate` writes them, and a test finds those that are stale. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderReference } from '../src/api/reference.ts';
import { metricsPage } from '../src/report/metric-list.ts';

const root = join(import.meta.dirname, '..');

/** By their path in the project. */
export function generatedPages(): ReadonlyMap<string, string> {
  return new Map([
    ['docs/reference.md', renderReference()],
    ['docs/metrics.md', metricsPage()],
  ]);
}

if (import.meta.main) {
  for (const [path, text] of generatedPages()) await writeFile(join(root, path), text);
}
