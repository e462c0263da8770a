/** Which story gives each mutant away, by the name of the mutant; written by find.ts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const tableFile = join(import.meta.dirname, 'killers.json');
export const killers = JSON.parse(readFileSync(tableFile, 'utf8')) as Readonly<Record<string, string>>;
