import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseLabelSelector, selects } from './label-selector.ts';

function selectedBy(text: string, labels: Record<string, string>): boolean {
  const parsed = parseLabelSelector(text);
  assert.ok(parsed.ok, text);
  return selects(parsed.selector, labels);
}

describe('a selector in one line', () => {
  const rows: [string, Record<string, string>, boolean][] = [
    ['type=compute', { type: 'compute' }, true],
    ['type==compute', { type: 'storage' }, false],
    ['type = compute , rack = a', { type: 'compute', rack: 'a' }, true],
    ['type=compute,rack=a', { type: 'compute' }, false],
    ['rack!=a', { rack: 'b' }, true],
    ['rack!=a', { rack: 'a' }, false],
    ['rack!=a', {}, true],
    ['rack in (a, b)', { rack: 'b' }, true],
    ['rack in (a, b)', { rack: 'c' }, false],
    ['rack notin (a,b),type=compute', { rack: 'c', type: 'compute' }, true],
    ['rack notin (a,b),type=compute', { rack: 'a', type: 'compute' }, false],
    ['example.com/gpu', { 'example.com/gpu': '' }, true],
    ['!example.com/gpu', { 'example.com/gpu': '' }, false],
    ['!gpu', {}, true],
    ['gpu=', { gpu: '' }, true],
    ['constructor', {}, false],
  ];
  for (const [text, labels, expected] of rows) {
    test(`[FEN-6] ${text} of ${JSON.stringify(labels)}`, () => assert.equal(selectedBy(text, labels), expected));
  }

  for (const text of [
    '',
    ' ',
    'a=b=c',
    'a>1',
    'rack in a',
    'rack in (a',
    'a b',
    '=b',
    'a=b,',
    'a=b c',
    '-a=b',
    'in (a)',
  ]) {
    test(`[FEN-6] "${text}" is refused with a sentence`, () => {
      const parsed = parseLabelSelector(text);
      assert.match(parsed.ok ? '' : parsed.problem, /: write label=value/);
    });
  }
});
