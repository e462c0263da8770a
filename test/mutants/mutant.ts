/** The product with one thing left out. */
import type { Span } from './source.ts';

export type MutantKind =
  /** A question of an ordered list is not asked. */
  | 'check'
  /** What an act rests on is not read again, or not compared. */
  | 'grounds'
  /** A write does not say which object is meant, or in which version. */
  | 'precondition'
  /** A patch does not say what it rests on. */
  | 'test'
  /** Whoever does not lead any more writes. */
  | 'guard';

export interface Mutant {
  /** By which the table knows it: file, place, and what is left out. It survives edits elsewhere in the file. */
  id: string;
  kind: MutantKind;
  /** The new text of each file that is different. */
  changes: Readonly<Record<string, string>>;
  /** The name of a question in its list: whether it was ever answered can be found out without leaving it out. */
  probe?: Span;
}
