/** The search for orders, on parties that do nothing: it finds each order that differs from the others, and once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Step } from '../../src/world/network/step-gate.ts';
import { Explorer } from './explore.ts';

/** `r` reads and `w` writes the one thing, `s` and `x` another; as a step they carry their place. */
type Deeds = string[];

function stepsOf(party: string, deeds: Deeds): Step[] {
  return deeds.map((deed, index) => ({
    party,
    request: { method: /[wx]/.test(deed) ? 'PUT' : 'GET', path: `/${deed}/${index}`, purpose: 'call', timeoutMs: 1 },
  }));
}

function subject({ request }: Step): string {
  return /^\/[rw]/.test(request.path) ? 'one' : 'other';
}

function depend(a: Step, b: Step): boolean {
  return subject(a) === subject(b) && (a.request.method === 'PUT' || b.request.method === 'PUT');
}

/** Which step came before which of the other party, of those to which that makes a difference. */
function traceOf(order: readonly Step[]): string {
  const name = ({ party, request }: Step): string => party + request.path;
  return order
    .flatMap((early, at) => {
      const later = order.slice(at + 1).filter((late) => late.party !== early.party && depend(early, late));
      return later.map((late) => `${name(early)}<${name(late)}`);
    })
    .sort()
    .join();
}

function allTraces(a: readonly Step[], b: readonly Step[], order: Step[] = []): Set<string> {
  if (a.length === 0 && b.length === 0) return new Set([traceOf(order)]);
  const [first, ...restA] = a;
  const [second, ...restB] = b;
  return new Set([
    ...(first === undefined ? [] : allTraces(restA, b, [...order, first])),
    ...(second === undefined ? [] : allTraces(a, restB, [...order, second])),
  ]);
}

/** What a run finds, or undefined if it was abandoned. */
function runOnce(explorer: Explorer, parties: ReadonlyMap<string, readonly Step[]>): string | undefined {
  explorer.begin();
  const left = new Map([...parties].map(([party, steps]) => [party, [...steps]]));
  let late: string | undefined;
  for (;;) {
    const heads = new Map([...left].flatMap(([party, [head]]) => (head === undefined ? [] : [[party, head] as const])));
    if (heads.size === 0) return traceOf(explorer.steps);
    const choice = explorer.choose(heads, late);
    if (explorer.abandoned) return undefined;
    late = 'await' in choice ? choice.await : undefined;
    if ('go' in choice) left.get(choice.go)?.shift();
  }
}

test('every order that makes a difference is found, and found once', () => {
  const deeds = fc.array(fc.constantFrom('r', 'w', 's', 'x'), { maxLength: 5 });
  fc.assert(
    fc.property(deeds, deeds, (a, b) => {
      const parties = new Map([
        ['a', stepsOf('a', a)],
        ['b', stepsOf('b', b)],
      ]);
      const explorer = new Explorer({ parties: ['a', 'b'], depend, patienceMs: 1 });
      const found: string[] = [];
      do {
        const trace = runOnce(explorer, parties);
        if (trace !== undefined) found.push(trace);
      } while (explorer.advance());
      assert.equal(new Set(found).size, found.length, 'none twice');
      assert.deepEqual(new Set(found), allTraces(stepsOf('a', a), stepsOf('b', b)));
    }),
    { numRuns: 300 },
  );
});
