/** The page of `make run`, in a browser, as somebody uses it who has never seen it: what it answers, not what it is made of. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { ConsoleStream } from '../support/console-stream.ts';
import { waitFor } from '../support/wait.ts';
import { DemoPage, nodeOfDatabase, violations } from './browser.ts';

let demo: DemoPage;
let page: Page;

before(async () => {
  demo = await DemoPage.open();
});

beforeEach(async () => {
  await demo.mend();
  page = await demo.page();
});

afterEach(() => page.close());

after(() => demo[Symbol.asyncDispose]());

const plugs = (node: string): Locator => page.locator(`[data-machine="${node}"]`);
const tile = (node: string): Locator => page.locator(`a.node[data-node="${node}"]`);
const headline = (): Locator => page.getByRole('heading', { level: 1 });

/** Opens the page of a node from the map. */
async function open(node: string): Promise<void> {
  await tile(node).click();
  await headline().filter({ hasText: node }).waitFor();
}

async function backToNow(): Promise<void> {
  await page.goBack();
  await page.getByRole('heading', { name: 'Plugs' }).waitFor();
}

/** Its database runs elsewhere, and the page says since when and on what basis. */
async function movedFrom(node: string): Promise<void> {
  // How many is a matter of what came to run beside the member of the database.
  await page.locator('.lines li', { hasText: /\d+ pods on the basis PowerOff/ }).waitFor();
  await page.getByRole('button', { name: /^Workloads, .*: on node-\d\. default\/database-0 runs on/ }).waitFor();
  const said = await page.locator('.total').innerText();
  assert.match(said, /^\d+ s until all that ran there ran again: \d+ s waiting to be sure that it is silent, /);
  assert.match(said, /making sure that its power is off/);
  assert.notEqual(await page.locator('.total').count(), 0, node);
}

async function inService(): Promise<void> {
  await page.locator('.facts', { hasText: ' · schedulable' }).waitFor();
}

/** One that is over, whichever test was first. */
async function anIncident(): Promise<void> {
  const over = page.getByRole('row', { name: /off, released, back in service/ }).first();
  await page.getByRole('heading', { name: 'Recent incidents' }).waitFor();
  if ((await over.count()) > 0) return;
  await plugs(await nodeOfDatabase(page))
    .getByRole('button', { name: 'Pull the plug' })
    .click();
  await over.waitFor();
}

test('[POD-10, FEN-10] pull the plug of the database: it comes back elsewhere, with the basis, and the node comes back', async () => {
  const node = await nodeOfDatabase(page);
  await headline().filter({ hasText: 'Nothing needs you. All nodes are well.' }).waitFor();
  await plugs(node).getByRole('button', { name: 'Pull the plug' }).click();
  await page.locator(`a.node[data-node="${node}"]:not(.m-healthy)`).waitFor();
  await headline().filter({ hasText: 'Nothing needs you. 1 node is being looked after.' }).waitFor();
  await open(node);
  await movedFrom(node);
  await headline().filter({ hasText: 'takes no pods yet' }).waitFor();
  await page.getByRole('button', { name: /^Machine, .*: boots\. it was switched on, and has to boot/ }).waitFor();
  await inService();
  await backToNow();
  await page
    .getByRole('row', { name: new RegExp(`${node} .* its Lease was not renewed \\d+ s .*off, released`) })
    .waitFor();
  await page.locator('.story li', { hasText: `${node}: released pod default/database-0` }).waitFor();
  assert.deepEqual(demo.problems, []);
});

test('[FEN-1, FEN-10] cut its network: it is fenced, released and, when it can be reached again, brought back', async () => {
  const node = await nodeOfDatabase(page);
  await plugs(node).getByRole('button', { name: 'Cut its network' }).click();
  await page.locator(`a.node[data-node="${node}"]:not(.m-healthy)`).waitFor();
  await open(node);
  await movedFrom(node);
  await headline().filter({ hasText: 'it was switched on, and has to boot' }).waitFor();
  await page.locator('.facts', { hasText: 'unschedulable' }).waitFor();
  await page.getByRole('button', { name: 'Mend its network' }).click();
  await inService();
  await backToNow();
  assert.deepEqual(demo.problems, []);
});

test('[DRN-14] drain the node with the only copy of a volume: auto-evicting, beside unschedulable, until it is copied', async () => {
  await page.locator('a.node.m-healthy').nth(5).waitFor();
  const holder = page.locator('[data-machine]', { hasText: /photos(?! \()/ });
  const node = (await holder.getAttribute('data-machine')) ?? '';
  await open(node);
  await page.locator('.pods li', { hasText: /instance-manager-\S+ running/ }).waitFor();
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.locator('.facts', { hasText: 'unschedulable · auto-evicting' }).waitFor();
  await page.getByText(/a drain waits: EvictingReplicas: replica \S+ of volume photos has to be rebuilt/).waitFor();
  await page.locator('.drain', { hasText: /^drained: nothing is lost/ }).waitFor();
  assert.doesNotMatch(await page.locator('.facts').innerText(), /auto-evicting/);
  await backToNow();
  assert.notEqual(await holder.getAttribute('data-machine'), node);
  await page.locator('.story li', { hasText: `${node}: drained` }).waitFor();
  await plugs(node).getByRole('button', { name: 'Uncordon' }).click();
  await plugs(node).getByRole('button', { name: 'Drain' }).waitFor();
  assert.deepEqual(demo.problems, []);
});

test('[USE-4] by the keyboard alone: find a node, walk over the map, read a mark, a lane as a table, and back', async () => {
  await anIncident();
  await page.keyboard.press('/');
  await page.keyboard.type('node-4');
  await page.keyboard.press('Enter');
  await headline().filter({ hasText: 'node-4' }).waitFor();
  assert.match(page.url(), /#\/node\/node-4$/);
  await page.keyboard.press('Escape');
  await page.getByRole('group', { name: 'Nodes by zone' }).focus();
  await page.keyboard.press('ArrowDown');
  const below = await page.evaluate('document.activeElement.dataset.node');
  assert.equal(below, 'node-4', 'below node-1, in its zone');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.evaluate('document.activeElement.dataset.node'), 'node-5');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const row = page.getByRole('row', { name: /off, released, back in service/ }).first();
  await row.getByRole('link').focus();
  await page.keyboard.press('Enter');
  await page
    .getByRole('button', { name: /^Asked, .*: confirmed off\./ })
    .first()
    .focus();
  await page.locator('.evidence', { hasText: /Asked: confirmed .* From NodeFence status\.history\./ }).waitFor();
  await page.getByRole('link', { name: 'Asked' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('group', { name: 'Lane asked as a table' }).waitFor();
  assert.match(
    page.url(),
    /#\/node\/node-\d\/node-\d-\d+\?lane=asked$/,
    'what is sent to somebody else opens the same',
  );
  await page.goBack();
  await page.getByRole('group', { name: 'Lane asked as a table' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Plugs' }).waitFor();
  assert.deepEqual(demo.problems, []);
});

test('[USE-4] what cannot be taken back wants the name of the node typed; a stop is one press, and needs a person from then on', async () => {
  await open('node-6');
  await page.getByRole('button', { name: 'Fence now…' }).click();
  const sure = page.getByRole('button', { name: 'Fence now', exact: true });
  await page.getByLabel('Type the name of the node to go on').fill('node-5');
  assert.equal(await sure.isDisabled(), true);
  await page.getByLabel('Type the name of the node to go on').fill('node-6');
  await sure.click();
  await page.getByText('fence requested; the page shows what comes of it').waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  const need = page.getByRole('listitem').filter({ hasText: 'Stopped' });
  await need.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.locator('.needs').waitFor({ state: 'detached' });
  await open('node-6');
  await inService();
  await backToNow();
  assert.deepEqual(demo.problems, []);
});

test('[USE-4, EXP-4, ADM-4] the other pages answer in their first line, and say what it rests on', async () => {
  await anIncident();
  await demo.mend();
  const answers: [string, RegExp, RegExp][] = [
    [
      'Workloads',
      /^No pods are stuck\. All 4 stateful pods would fail over tonight\.$/,
      /All would, as far as can be told/,
    ],
    ['Devices', /^No device has failed its last check\./, /fence_redfish/],
    ['Policies', /^1 policy in force, \d risky\. Every node has one\.$/, /Valid True, Accepted/],
    ['Drains', /^No nodes are cordoned, no drain waits\.$/, /Guarding True/],
    ['Record', /^\d+ entries on record$/, /on the basis PowerOff/],
  ];
  for (const [name, first, rests] of answers) {
    await page.getByRole('navigation').getByRole('link', { name }).click();
    await headline().filter({ hasText: first }).waitFor();
    await page.getByText(rests).first().waitFor();
    assert.deepEqual(await violations(page), [], name);
  }
  await page.goBack();
  await headline().filter({ hasText: 'cordoned' }).waitFor();
  assert.deepEqual(demo.problems, []);
});

test('[USE-4] time ×60: a quarter of an hour in seconds, in which nobody is suspected; a lost machine takes as long as ever, by its own clock', async () => {
  const node = await nodeOfDatabase(page);
  const fast = page.getByRole('group', { name: 'How fast time passes' });
  await fast.getByRole('button', { name: '×60' }).click();
  await fast.getByRole('button', { name: '×60', pressed: true }).waitFor();
  using seen = await ConsoleStream.open(new URL(demo.url));
  await waitFor('the first news', () => seen.at > 0);
  const from = seen.at;
  const moments: string[] = [];
  await waitFor('a quarter of an hour', () => {
    moments.push(...seen.nodes.filter(({ mark }) => mark !== 'healthy').map(({ name, reason }) => `${name} ${reason}`));
    return seen.at - from > 900_000;
  });
  assert.deepEqual(moments, []);
  // It may have been lost before, by another test: the last incident is the first of them.
  const over = page.getByRole('row', { name: new RegExp(`^${node} .*off, released, back in service`) });
  const before = await over.count();
  await plugs(node).getByRole('button', { name: 'Pull the plug' }).click();
  await over.nth(before).waitFor();
  await over.first().getByRole('link').click();
  const said = await page.locator('.total').innerText();
  const [, seconds = ''] = /^(\d+(?:\.\d)?) s until all that ran there ran again/.exec(said) ?? [];
  assert.ok(Number(seconds) > 10 && Number(seconds) < 30, said);
  await backToNow();
  await fast.getByRole('button', { name: '×1', exact: true }).click();
  await fast.getByRole('button', { name: '×1', exact: true, pressed: true }).waitFor();
  assert.deepEqual(demo.problems, []);
});

/** Where docs/console.md sends whoever asks about an incident, and what stands there while the machine boots. */
async function answered(node: string): Promise<void> {
  const panel = (title: string): Locator => page.getByRole('region', { name: title, exact: true });
  const lane = (name: string): Locator => page.getByRole('button', { name: new RegExp(`^${name}, `) });
  const answers: Record<string, [Locator, RegExp]> = {
    'What failed, and when?': [page.locator('.total'), /Began \d+ s ago \(its Lease was not renewed\)/],
    'How was it known?': [lane('Heard'), /silent.*Lease overdue/s],
    'What made it safe to let its pods go?': [panel('Why this verdict'), /on the basis PowerOff/],
    'What was freed, and when?': [panel('Why this verdict'), /\d:\d\d:\d\d.* \d+ pods? on the basis \w+.*, all gone/],
    'Where does it run now, since when?': [lane('Workloads'), /on node-\d\. default\/database-0 runs on node-\d/],
    'Why did it take so long?': [page.locator('.total'), /^\d+ s until all .* ran again: \d+ s waiting to be sure/],
    'What held it up?': [lane('Held'), /looking around|time to come back/],
    'What is waited for now, and until when?': [panel('What comes next'), /it (has|is) .*(boot|Ready).*\((in|now)/s],
    'How is the machine?': [lane('Machine'), /off\..*boots\. it was switched on, and has to boot/s],
    'Must I act?': [panel('What comes next'), /^(?!.*waits for (you|a person))/s],
    'What can I do?': [panel('What comes next'), new RegExp(`fenceline \\w+ .*${node}`)],
  };
  const text = readFileSync('docs/console.md', 'utf8').split('## A node: ')[1]?.split('\n## ')[0] ?? '';
  const asked = [...text.matchAll(/^\| ([A-Z].*?\?) \| /gm)].map(([, question]) => question);
  assert.deepEqual(Object.keys(answers), asked, 'each question of docs/console.md is answered here');
  for (const [question, [where, answer]] of Object.entries(answers)) {
    const said = (await where.evaluateAll((all) => all.map((one) => one.ariaLabel ?? one.textContent))).join('\n');
    assert.match(said, answer, question);
  }
}

test('[USE-4] the pictures of docs/console.md are there, and small: light and dark, on a desk and on a phone', async () => {
  const node = await nodeOfDatabase(page);
  await plugs(node).getByRole('button', { name: 'Pull the plug' }).click();
  // Not that of an earlier test.
  await page.locator(`a.node[data-node="${node}"]:not(.m-healthy)`).waitFor();
  await open(node);
  await page.getByRole('heading', { name: 'Incident', exact: true }).waitFor();
  await page.getByRole('button', { name: /^Machine, .*: boots\./ }).waitFor();
  await answered(node);
  const desk = { width: 1200, height: 820 };
  const phone = { width: 390, height: 844 };
  await demo.picture({ name: 'incident', look: { viewport: desk, colorScheme: 'light' }, hash: `#/node/${node}` });
  await demo.picture({
    name: 'now-dark',
    look: { viewport: { width: 1200, height: 620 }, colorScheme: 'dark' },
    hash: '#/',
  });
  await demo.picture({
    name: 'incident-phone-dark',
    look: { viewport: phone, colorScheme: 'dark' },
    hash: `#/node/${node}`,
  });
  await demo.picture({ name: 'now-phone', look: { viewport: phone, colorScheme: 'light' }, hash: '#/' });
  await inService();
});

test('[USE-4] axe-core finds nothing wrong, in light and dark, on a desk and on a phone', async () => {
  const node = await nodeOfDatabase(page);
  const phone = { width: 390, height: 844 };
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const viewport of [{ width: 1440, height: 900 }, phone]) {
      for (const hash of ['#/', `#/node/${node}`, '#/node/node-6?lane=done']) {
        const other = await demo.page({ colorScheme, viewport }, hash);
        await other.getByRole('heading', { level: 1 }).waitFor();
        assert.deepEqual(await violations(other), [], `${colorScheme} ${viewport.width} ${hash}`);
        await other.close();
      }
    }
  }
});
