import assert from 'node:assert/strict';
import { test } from 'node:test';
import { warningsOf } from './tell.ts';

test('[EXP-2] a node that is fenced although nothing is wrong with it is named, but not one that was not Ready before', () => {
  const of = (node: string, struck: boolean): { node: string; struck: boolean; fencedAt: number } & Empty => ({
    node,
    struck,
    fencedAt: 1,
    releases: [],
    holds: [],
  });
  const outcome = {
    nodes: [of('node-1', false), of('node-2', false), of('node-3', true)],
    pods: [],
    violations: [],
    exemptions: [],
    virtualMs: 0,
    wallMs: 0,
  };
  assert.deepEqual(warningsOf({ policies: 'in force', outcome }, new Set(['node-1'])), [
    'in force: node-2 would be fenced although nothing is wrong with it',
  ]);
});

type Empty = { releases: never[]; holds: never[] };
