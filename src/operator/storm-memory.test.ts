import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StormMemory } from './storm-memory.ts';

const sinceMs = Date.parse('2026-01-01T00:00:00Z');
const open = { node: 'a', sinceMs, nodes: 5, troubled: 3 };
const atMs = (seconds: number): number => sinceMs + seconds * 1000;

test('[STM-1, STM-6] a storm is known although its record is gone, until it is decided otherwise', () => {
  const memory = new StormMemory();
  assert.deepEqual(memory.signs(atMs(0)), []);
  memory.note('a', open, atMs(0));
  assert.deepEqual(memory.signs(atMs(60)), [open]);
  memory.note('a', undefined, atMs(60));
  assert.deepEqual(memory.signs(atMs(60)), [{ ...open, endedMs: atMs(60) }]);
  memory.note('a', undefined, atMs(90));
  assert.deepEqual(memory.signs(atMs(90)), [{ ...open, endedMs: atMs(60) }], 'it has ended before');
  memory.note('b', undefined, atMs(90));
  assert.equal(memory.signs(atMs(90)).length, 1);
});

test('[STM-6] nobody is left to notice its end: it counts as of when it was last seen', () => {
  const memory = new StormMemory();
  memory.note('a', open, atMs(0));
  memory.note('a', open, atMs(30));
  memory.forget('a');
  memory.forget('b');
  assert.deepEqual(memory.signs(atMs(60)), [{ ...open, endedMs: atMs(30) }]);
  const ended = { ...open, endedMs: atMs(10) };
  memory.note('a', ended, atMs(60));
  memory.forget('a');
  assert.deepEqual(memory.signs(atMs(60)), [ended]);
});

test('[STM-6] what ended a day ago is forgotten, and everything with the term', () => {
  const memory = new StormMemory();
  memory.note('a', { ...open, endedMs: atMs(0) }, atMs(0));
  memory.note('b', open, atMs(0));
  assert.equal(memory.signs(atMs(86_400)).length, 2);
  assert.deepEqual(memory.signs(atMs(86_401)), [open], 'one that goes on is not');
  memory.clear();
  assert.deepEqual(memory.signs(atMs(0)), []);
});
