/** The same requests to the real server and to the embedded one: the same answers, but for what chance and time decide. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Driver, Json } from '../contract/contract.ts';
import { embeddedDriver } from '../contract/embedded-driver.ts';
import { realDriver } from '../contract/real-driver.ts';
import { twins } from '../contract/twin-requests.ts';
import { useControlPlane } from '../support/use-control-plane.ts';

const controlPlane = useControlPlane();
const embedded = embeddedDriver();
let opened: (Driver & { close(): void }) | undefined;
const real = (): Driver => (opened ??= realDriver(controlPlane()));
after(() => opened?.close());

/** Of chance or time, or, like the ownership of defaults, told with less detail: docs say how. */
const ignored = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'lastTransitionTime',
  'lastPhaseTransitionTime',
  'clusterIP',
  'clusterIPs',
  'managedFields',
]);

function comparable(value: Json): Json {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value === 'string') return value.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UID');
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key, one]) => !ignored.has(key) || one === null);
  return Object.fromEntries(entries.map(([key, one]) => [key, comparable(one)]));
}

for (const [index, [method, path, body, contentType]] of twins.entries()) {
  const what = body === undefined ? '' : ` ${JSON.stringify(body).slice(0, 60)}`;
  test(`${index + 1}. ${method} ${path}${what}`, async () => {
    const named = (text: string): string => text.replaceAll('NS', 'twin');
    const given: unknown = body === undefined ? undefined : JSON.parse(named(JSON.stringify(body)));
    const options = contentType === undefined ? {} : { contentType };
    const expected = await real().call(method, named(path), given, options);
    const actual = await embedded.call(method, named(path), given, options);
    assert.equal(actual.status, expected.status, `${expected.body.message} / ${actual.body.message}`);
    assert.deepEqual(comparable(actual.body), comparable(expected.body));
  });
}
