/** A column of a table, and the two that every table has. */
import type { ApiObject } from '../object.ts';
import { since } from './ages.ts';

export interface Column {
  name: string;
  type?: string;
  format?: string;
  /** 1: only in the wide table. */
  priority?: number;
  cell: (object: ApiObject, nowMs: number) => unknown;
}

export const nameColumn: Column = { name: 'Name', format: 'name', cell: ({ metadata }) => metadata.name };
export const ageColumn: Column = {
  name: 'Age',
  cell: ({ metadata }, nowMs) => since(metadata.creationTimestamp, nowMs),
};
