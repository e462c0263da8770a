/** What every driver does that is given a token for its credentials. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FakeEndpoint } from './endpoints/fake-cloud.ts';

const never = new AbortController().signal;

export function tokenContract(endpointOf: () => FakeEndpoint): void {
  test('[FEN-9] one token serves many questions, and one that is not taken any more is replaced once', async () => {
    const endpoint = endpointOf();
    const { tokens } = endpoint.fake;
    tokens.clear();
    const device = endpoint.device('a');
    await device.ask('status', never);
    await device.ask('off', never);
    assert.equal(tokens.size, 1);
    for (const token of tokens.values()) token.isValid = false;
    // Also one that takes its time to go off says for certain what it is.
    await endpoint.setPower('a', 'on');
    assert.equal((await device.ask('status', never)).kind, 'status');
    assert.equal(tokens.size, 2);
  });
}
