/** What docs/security.md says to be shown by a test is shown by one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const page = readFileSync('docs/security.md', 'utf8');
const rows = page.split('\n').filter((line) => /^\| (?!who \|)\w/.test(line));

test('[SEC-4] every threat of docs/security.md names a test that is there', () => {
  assert.ok(rows.length >= 10);
  const shown = rows.map((row) => /\[[\w-]+\.test\.ts\]\(\.\.\/(\S+)\): "([^"]+)" \|$/.exec(row) ?? [row]);
  assert.deepEqual(
    shown.filter(([, file, title]) => file === undefined || !readFileSync(file, 'utf8').includes(title ?? '')),
    [],
  );
});
