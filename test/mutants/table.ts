/** Which story gives each mutant away. What no story can show is written here by hand, with the test that does, or why none can. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type ByHand =
  /** A test on the real control plane: its file and title. */
  | { test: string; title: string }
  /** The product with this left out does the same, for this reason. */
  | { equivalent: string };

export const tableFile = join(import.meta.dirname, 'killers.json');

/** By the name of the mutant; written by find.ts. */
export const killers = JSON.parse(readFileSync(tableFile, 'utf8')) as Readonly<Record<string, string>>;

export const byHand: Readonly<Record<string, ByHand>> = {};
