import type { Invariant } from './checker.ts';
import { s1 } from './s1-basis-first.ts';
import { s14 } from './s14-preconditions.ts';
import { s16 } from './s16-no-going-back.ts';
import { s2 } from './s2-one-writer.ts';
import { s8 } from './s8-only-ours.ts';

export const invariants: readonly Invariant[] = [s1, s2, s8, s14, s16];
