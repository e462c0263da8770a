/** The three guided stories, clicked through as a newcomer does: each step is true when it is told, and each ends in its incident. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { DemoPage, nodeOfDatabase, violations } from './browser.ts';

let demo: DemoPage;
let page: Page;

before(async () => {
  demo = await DemoPage.open();
});
beforeEach(async () => {
  await demo.mend();
  page = await demo.page();
  page.setDefaultTimeout(40_000);
});
afterEach(() => page.close());
after(() => demo[Symbol.asyncDispose]());

const bar = (): Locator => page.locator('.story-bar');
const button = (name: string): Locator => bar().getByRole('button', { name, exact: true });
const mark = (name: RegExp): Locator => page.getByRole('button', { name }).first();

/** Waits until it is told, and can be gone on from. */
async function told(text: RegExp | string): Promise<void> {
  await bar().locator('p', { hasText: text }).waitFor();
  await bar().locator('button.primary').waitFor();
}

async function goOn(label = 'Go on'): Promise<void> {
  await button(label).click();
}

/** Nobody here has to read: what would be waited for passes ten times as fast. */
async function hurry(): Promise<void> {
  const fast = page.getByRole('group', { name: 'How fast time passes' });
  await fast.getByRole('button', { name: '×10' }).click();
  await fast.getByRole('button', { name: '×10', pressed: true }).waitFor();
}

async function begin(title: string): Promise<string> {
  const node = await nodeOfDatabase(page);
  await page.getByRole('button', { name: title, exact: true }).click();
  return node;
}

test('[USE-4] a dead machine: what happened, on what proof, why it took as long, in less than two minutes', async () => {
  await hurry();
  const node = await begin('A dead machine');
  await told(`${node} runs database-0`);
  await goOn('Pull the plug');
  await told('Nothing is heard of');
  await page.locator(`a.node[data-node="${node}"]:not(.m-healthy)`).waitFor();
  await goOn();
  await told('the answer is off. That is proof');
  await goOn();
  await told(/On that basis, PowerOff, .*database-0 starts elsewhere/);
  await goOn();
  await told(/^A dead machine, 5 of 7 database-0 runs on node-\d\. This page tells the incident/);
  assert.match(page.url(), new RegExp(`#/node/${node}/${node}-\\d+$`), 'the incident, by the address that stays');
  assert.match(
    await page.locator('.total').innerText(),
    /^\d+ s until all that ran there ran again: \d+ s waiting to be sure/,
  );
  await mark(/^Asked, .*: confirmed off\./).waitFor();
  assert.deepEqual(await violations(page), []);
  await goOn();
  await told(/is switched on again.*Time passes ten times as fast here/);
  await goOn();
  await told(`${node} takes pods again`);
  await page.locator('.facts', { hasText: ' · schedulable' }).waitFor();
  await goOn('Done');
  await bar().waitFor({ state: 'detached' });
  assert.match(page.url(), new RegExp(`#/node/${node}/`), 'it ends in the incident');
  assert.deepEqual(demo.problems, []);
});

test('[STM-1, USE-4] a broken switch: four of six are silent, the brake holds, and not one is switched off', async () => {
  await hurry();
  await begin('A broken switch');
  await goOn('Break the switch');
  await told('Their Leases are overdue');
  await page.getByText('4 of 6 in trouble, 2 allowed').waitFor();
  await goOn();
  await told('4 of 6 are in trouble, and 2 may be');
  await page.getByText('it holds', { exact: true }).waitFor();
  await goOn();
  await told(/This is the incident of node-\d: the lane Held/);
  await mark(/^Held, .*: storm limit\./).waitFor();
  await page.getByRole('button', { name: 'Pull the plug' }).waitFor();
  await goOn();
  await goOn('Mend the switch');
  await told('All of them are heard again');
  await goOn();
  await told('All four are back, and not one was switched off');
  assert.equal(await page.getByRole('button', { name: /^Machine, .*: off\./ }).count(), 0);
  await goOn('Done');
  await page.goBack();
  await page.getByRole('navigation').getByRole('link', { name: 'Now' }).click();
  await page.getByRole('heading', { level: 1, name: 'Nothing needs you.' }).waitFor();
  assert.doesNotMatch(await page.locator('.story').innerText(), /power is (off|cut)|switched off/);
  assert.deepEqual(demo.problems, []);
});

test('[FEN-10, USE-4] a lying power device: its yes counts for nothing, by the keyboard alone', async () => {
  await hurry();
  const node = await nodeOfDatabase(page);
  await page.getByRole('button', { name: 'A lying power device', exact: true }).focus();
  await page.keyboard.press('Enter');
  await told('You break its BMC');
  await button('Break the BMC').focus();
  await page.keyboard.press('Enter');
  await told('Now you cut the network');
  await page.keyboard.press('Enter');
  await told('mean two that write to one volume');
  await page.keyboard.press('Enter');
  await told('What is not confirmed counts for nothing');
  await mark(/^Asked, .*: told off\./).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Asked, .*: (off|confirmed off)\./ }).count(), 0);
  await page.keyboard.press('Enter');
  await told('The other way was StorageSafeDetach');
  await page.locator('.lines li', { hasText: 'on the basis StorageSafeDetach' }).waitFor();
  await page.keyboard.press('Enter');
  await told('You mend the BMC and the network');
  await page.keyboard.press('Enter');
  await told('is heard again at once');
  await page.keyboard.press('Enter');
  await told(`${node} is back, and nothing was lost`);
  assert.match(page.url(), new RegExp(`#/node/${node}/`));
  await page.keyboard.press('Enter');
  await bar().waitFor({ state: 'detached' });
  assert.deepEqual(demo.problems, []);
});

test('[USE-4] whoever leaves a story leaves nothing broken, and time as it was; none begins before all is well', async () => {
  await page.getByText('Each takes less than two minutes.').waitFor();
  const node = await begin('A lying power device');
  await goOn('Break the BMC');
  await goOn('Cut its network');
  await page.getByText('One can be begun when all nodes are well and plugged in.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'A dead machine', exact: true }).isDisabled(), true);
  await button('Leave').click();
  await page.locator(`[data-machine="${node}"]`).getByRole('button', { name: 'Cut its network' }).waitFor();
  assert.equal(await page.getByLabel(`Power device of ${node}`).inputValue(), 'none');
  await page
    .getByRole('group', { name: 'How fast time passes' })
    .getByRole('button', { name: '×1', pressed: true, exact: true })
    .waitFor();
  assert.deepEqual(demo.problems, []);
});
