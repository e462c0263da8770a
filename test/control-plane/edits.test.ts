/** The edits that the simulation makes, judged by a real API server: what the embedded one takes or refuses, it takes or refuses too. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { customResourceDefinitions as definitions, namespaces } from '../../src/kube/resources.ts';
import { ApiServer } from '../../src/world/api-server/server.ts';
import { EDITED, keyOf } from '../simulation/edits/base.ts';
import { describe, generate } from '../simulation/edits/generate.ts';
import { refOf } from '../simulation/edits/play.ts';
import { changed } from '../simulation/edits/values.ts';
import { clientFor } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { installCrds } from '../support/install.ts';
import { manualClock } from '../support/manual-clock.ts';

/** Of which an edit of one field is judged; a story that deletes or is about a ConfigMap has nothing to judge. */
const seeds = 160;
const edits = Array.from({ length: seeds }, (_, index) => generate(index + 1)).flatMap((story) =>
  story.edits
    .filter(({ object, path }) => path.length > 0 && !object.startsWith('ConfigMap '))
    .map((edit) => ({ edit, line: describe({ ...story, edits: [edit] }) })),
);

const times = ['+25:00', '+00:00', 'z', '', '.5Z', 'Z0'].map((zone) => `2020-01-01T00:00:00${zone}`);
const others: unknown[] = [
  '2016-12-31T23:59:60Z',
  '2020-02-30T00:00:00Z',
  '1969-01-01T00:00:00Z',
  '2020-01-01',
  [],
  [[]],
  ['x'],
  5,
  {},
];

let controlPlane: ControlPlane;
let real: KubeClient;
let embedded: KubeClient;

before(async () => {
  controlPlane = await startControlPlane({ name: 'edits' });
  await installCrds(controlPlane);
  real = clientFor(controlPlane);
  const clock = manualClock();
  const server = new ApiServer({ clock, random: () => 0.5, freezes: true });
  const transport = server.transport('kubernetes-admin');
  embedded = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
  for (const crd of customResourceDefinitions()) assert.ok((await embedded.create(definitions, crd)).ok);
  for (const client of [real, embedded]) {
    assert.ok((await client.create(namespaces, { metadata: { name: 'fenceline' } })).ok);
  }
});

after(async () => {
  real?.close();
  await controlPlane?.stop();
});

/** Created if it is right, and deleted again: what is judged next has its name. */
async function verdictOf(client: KubeClient, object: (typeof EDITED)[number]): Promise<string> {
  const ref = refOf(object);
  const created = await client.create(ref.resource, object);
  if (!created.ok) return `refused with ${created.error.status}`;
  const { uid = '' } = created.value.metadata;
  assert.ok((await client.delete(ref, { uid })).ok);
  return 'taken';
}

test(`both say the same of ${edits.length} edits`, async () => {
  const differ: string[] = [];
  const seen = new Set<string>();
  for (const { edit, line } of edits) {
    const base = EDITED.find((one) => keyOf(one) === edit.object);
    assert.ok(base);
    const object = changed(base, edit.path, edit.value) as typeof base;
    const [one, other] = [await verdictOf(embedded, object), await verdictOf(real, object)];
    seen.add(other);
    if (one !== other) differ.push(`${line}: the embedded one ${one}, the real one ${other}`);
  }
  const requested = EDITED.find(({ kind }) => kind === 'NodeFence');
  assert.ok(requested);
  for (const at of [...times, ...others]) {
    const object = changed(requested, ['spec', 'requested', 'at'], at) as typeof requested;
    const [one, other] = [await verdictOf(embedded, object), await verdictOf(real, object)];
    if (one !== other) differ.push(`${JSON.stringify(at)}: the embedded one ${one}, the real one ${other}`);
    if (typeof at !== 'string') assert.notEqual(other, 'taken', JSON.stringify(at));
  }
  assert.deepEqual(differ, []);
  assert.ok(seen.has('taken') && seen.has('refused with 422'), [...seen].join(', '));
});
