import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { applyJsonPatch, PatchConflict } from '../../test/support/json-patch.ts';
import type { JsonPatchOperation, KubeObject } from './client.ts';
import type { NodeLike, Taint } from './patches.ts';
import {
  addFinalizer,
  addTaint,
  cordon,
  removeAnnotation,
  removeFinalizer,
  removeLabel,
  removeTaint,
  setAnnotation,
  setLabel,
  uncordon,
} from './patches.ts';

const node = (spec?: NodeLike['spec']): NodeLike => ({ metadata: { name: 'n' }, ...(spec && { spec }) });
const ours: Taint = { key: 'fenceline.dev/quarantine', effect: 'NoSchedule' };
const theirs: Taint = { key: 'example.com/maintenance', value: 'disk', effect: 'NoExecute' };

describe('taints', () => {
  test('the first taint of a node is added only while there is none', () => {
    assert.deepEqual(addTaint(node({}), ours), [
      { op: 'test', path: '/spec/taints', value: null },
      { op: 'add', path: '/spec/taints', value: [ours] },
    ]);
    assert.throws(() => applyJsonPatch(node({ taints: [theirs] }), addTaint(node({}), ours)), PatchConflict);
  });

  test('further taints go behind those that were read', () => {
    assert.deepEqual(applyJsonPatch(node({ taints: [theirs] }), addTaint(node({ taints: [theirs] }), ours)).spec, {
      taints: [theirs, ours],
    });
    const raced = node({ taints: [theirs, ours] });
    assert.throws(() => applyJsonPatch(raced, addTaint(node({ taints: [theirs] }), ours)), PatchConflict);
  });

  test('a taint of the same key and another effect is another taint', () => {
    const other = { ...ours, effect: 'NoExecute' };
    assert.deepEqual(applyJsonPatch(node({ taints: [other] }), addTaint(node({ taints: [other] }), ours)).spec, {
      taints: [other, ours],
    });
    assert.deepEqual(removeTaint(node({ taints: [other] }), ours), []);
  });

  test('a taint that is there is left alone, or gets the new value in its place', () => {
    const stamped = { ...ours, timeAdded: '2026-01-01T00:00:00Z' };
    assert.deepEqual(addTaint(node({ taints: [stamped] }), ours), []);
    const valued = { ...ours, value: 'abc' };
    assert.deepEqual(addTaint(node({ taints: [theirs, ours] }), valued), [
      { op: 'test', path: '/spec/taints/1', value: ours },
      { op: 'replace', path: '/spec/taints/1', value: valued },
    ]);
  });

  test('only our taint goes, and only from where it was', () => {
    const patch = removeTaint(node({ taints: [theirs, ours] }), ours);
    const more = { ...theirs, key: 'example.com/more' };
    assert.deepEqual(applyJsonPatch(node({ taints: [theirs, ours, more] }), patch).spec, { taints: [theirs, more] });
    assert.throws(() => applyJsonPatch(node({ taints: [ours, theirs] }), patch), PatchConflict);
    assert.throws(() => applyJsonPatch(node({ taints: [theirs] }), patch), PatchConflict);
    assert.deepEqual(removeTaint(node(), ours), []);
  });
});

describe('cordon', () => {
  test('is set once, and removed once', () => {
    assert.deepEqual(applyJsonPatch(node({}), cordon(node({}))).spec, { unschedulable: true });
    assert.deepEqual(applyJsonPatch(node({ unschedulable: false }), cordon(node({ unschedulable: false }))).spec, {
      unschedulable: true,
    });
    assert.deepEqual(cordon(node({ unschedulable: true })), []);
    assert.deepEqual(applyJsonPatch(node({ unschedulable: true }), uncordon(node({ unschedulable: true }))).spec, {});
    assert.deepEqual(uncordon(node({})), []);
    assert.deepEqual(uncordon(node({ unschedulable: false })), []);
  });

  test('somebody else who cordons or uncordons meanwhile makes it a conflict', () => {
    assert.throws(() => applyJsonPatch(node({ unschedulable: true }), cordon(node({}))), PatchConflict);
    assert.throws(() => applyJsonPatch(node({}), uncordon(node({ unschedulable: true }))), PatchConflict);
  });
});

describe('annotations and labels', () => {
  const object = (annotations?: Record<string, string>): KubeObject => ({
    metadata: { name: 'n', ...(annotations && { annotations }) },
  });

  test('slash and tilde of a key are escaped', () => {
    assert.deepEqual(setAnnotation(object({}), 'fenceline.dev/a~b', 'x').at(-1), {
      op: 'add',
      path: '/metadata/annotations/fenceline.dev~1a~0b',
      value: 'x',
    });
  });

  test('the first one comes with its map', () => {
    assert.deepEqual(setLabel(object(), 'a', 'b'), [
      { op: 'test', path: '/metadata/labels', value: null },
      { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
    ]);
  });

  test('nothing is done twice', () => {
    assert.deepEqual(setAnnotation(object({ a: 'b' }), 'a', 'b'), []);
    assert.deepEqual(removeAnnotation(object({ a: 'b' }), 'c'), []);
    assert.deepEqual(removeLabel(object(), 'c'), []);
  });

  test('a value that somebody changed meanwhile is neither overwritten nor removed', () => {
    const now = object({ a: 'theirs' });
    assert.throws(() => applyJsonPatch(now, setAnnotation(object({ a: 'old' }), 'a', 'new')), PatchConflict);
    assert.throws(() => applyJsonPatch(now, setAnnotation(object({}), 'a', 'new')), PatchConflict);
    assert.throws(() => applyJsonPatch(now, removeAnnotation(object({ a: 'old' }), 'a')), PatchConflict);
  });

  test('a key that objects inherit is a key like any other', () => {
    assert.deepEqual(removeAnnotation(object({}), 'constructor'), []);
    assert.equal(setAnnotation(object({}), 'constructor', 'x').length, 2);
  });
});

describe('whatever else the object holds stays as it is', () => {
  const key = fc.oneof(
    fc.constantFrom('a', 'b/c', 'd~e', '~1', 'constructor', 'toString'),
    fc.string({ minLength: 1, maxLength: 6 }),
  );
  const entries = fc.option(
    fc.array(fc.tuple(key, fc.string({ maxLength: 5 }))).map((pairs) => Object.fromEntries(pairs)),
    { nil: undefined },
  );
  const taint = fc.record(
    { key: fc.constantFrom('a', 'b', 'c'), effect: fc.constantFrom('NoSchedule', 'NoExecute'), value: fc.string() },
    { requiredKeys: ['key', 'effect'], noNullPrototype: true },
  );
  const taints = fc.uniqueArray(taint, { selector: (taint) => `${taint.key}:${taint.effect}` });
  const someNode = fc
    .record({
      name: fc.string(),
      labels: entries,
      annotations: entries,
      finalizers: fc.option(fc.uniqueArray(key), { nil: undefined }),
      taints: fc.option(taints, { nil: undefined }),
      unschedulable: fc.option(fc.boolean(), { nil: undefined }),
      other: fc.jsonValue(),
    })
    .map(
      ({ name, labels, annotations, finalizers, taints, unschedulable, other }) =>
        // Absent, not undefined: that is how objects come over the wire.
        JSON.parse(
          JSON.stringify({
            metadata: { name, labels, annotations, finalizers },
            spec: { taints, unschedulable, other },
            status: other,
          }),
        ) as NodeLike & { metadata: { labels?: Record<string, string> } },
    );

  /** The patch, then the same object with only the meant part set to `expected` by hand. */
  function check(before: NodeLike, operations: JsonPatchOperation[], expected: (copy: NodeLike) => void): void {
    const after = applyJsonPatch(before, operations);
    const wanted = structuredClone(before);
    expected(wanted);
    assert.deepEqual(after, wanted);
    for (const [index, { op, path }] of operations.entries()) {
      // There is nothing else that could be removed there.
      const isItsOwnTest = op === 'remove' && path === '/spec/unschedulable';
      if (op !== 'test' && !isItsOwnTest)
        assert.equal(operations[index - 1]?.op, 'test', 'nothing is written untested');
    }
  }

  test('taints', () => {
    fc.assert(
      fc.property(someNode, taint, (before, mine) => {
        const isMine = (other: Taint): boolean => other.key === mine.key && other.effect === mine.effect;
        check(before, addTaint(before, mine), (copy) => {
          const list = ((copy.spec ??= {}).taints ??= []);
          const index = list.findIndex(isMine);
          if (index === -1) list.push(mine);
          else list[index] = mine;
        });
        check(before, removeTaint(before, mine), (copy) => {
          if (copy.spec?.taints) copy.spec.taints = copy.spec.taints.filter((other) => !isMine(other));
        });
      }),
    );
  });

  test('labels and annotations', () => {
    fc.assert(
      fc.property(someNode, key, fc.string(), (before, name, value) => {
        const cases = [
          ['labels', setLabel, removeLabel],
          ['annotations', setAnnotation, removeAnnotation],
        ] as const;
        for (const [field, set, remove] of cases) {
          check(before, set(before, name, value), (copy) => {
            copy.metadata[field] = { ...copy.metadata[field], [name]: value };
          });
          check(before, remove(before, name), (copy) => {
            delete copy.metadata[field]?.[name];
          });
        }
      }),
    );
  });

  test('finalizers and cordon', () => {
    fc.assert(
      fc.property(someNode, key, (before, finalizer) => {
        check(before, addFinalizer(before, finalizer), ({ metadata }) => {
          if (!metadata.finalizers?.includes(finalizer))
            metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
        });
        check(before, removeFinalizer(before, finalizer), ({ metadata }) => {
          if (metadata.finalizers) metadata.finalizers = metadata.finalizers.filter((other) => other !== finalizer);
        });
        check(before, cordon(before), (copy) => {
          (copy.spec ??= {}).unschedulable = true;
        });
        check(before, uncordon(before), (copy) => {
          if (copy.spec?.unschedulable) delete copy.spec.unschedulable;
        });
      }),
    );
  });

  test('against any other state a patch either fails or changes only what it means to', () => {
    fc.assert(
      fc.property(someNode, someNode, taint, (read, now, mine) => {
        const isMine = (other: Taint): boolean => other.key === mine.key && other.effect === mine.effect;
        for (const patch of [addTaint(read, mine), removeTaint(read, mine)]) {
          try {
            const after = applyJsonPatch(now, patch);
            const others = (of: NodeLike): Taint[] => (of.spec?.taints ?? []).filter((other) => !isMine(other));
            assert.deepEqual(others(after), others(now));
          } catch (error) {
            assert.ok(error instanceof PatchConflict, String(error));
          }
        }
      }),
    );
  });
});
