/** An endpoint for the tests of a group, ended after them. */
import { after, before } from 'node:test';
import type { Endpoint } from './endpoint.ts';

export function useEndpoint<E extends Endpoint>(start: () => Promise<E>): () => E {
  let endpoint: E | undefined;
  before(async () => {
    endpoint = await start();
  });
  after(() => endpoint?.stop());
  return () => {
    if (endpoint === undefined) throw new Error('it is started before the first test, and not earlier');
    return endpoint;
  };
}
