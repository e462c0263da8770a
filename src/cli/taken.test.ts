import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiFailure } from './taken.ts';

test('[ADM-4] who may not is told where it is written who needs which rights; who is refused by a guard is not', () => {
  const message = 'nodefences.fenceline.dev is forbidden: User "jane" cannot list resource "nodefences"';
  assert.equal(
    apiFailure({ kind: 'forbidden', message }).message,
    `${message} (who needs which rights: docs/install.md#rights-of-people)`,
  );
  const guarded = "ValidatingAdmissionPolicy 'fenceline-records' denied request";
  assert.equal(apiFailure({ kind: 'forbidden', message: guarded }).message, guarded);
});
