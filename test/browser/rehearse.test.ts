/** What would this policy have done? As somebody asks it of the page of `make run`, and what the page answers. */
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
});
afterEach(() => page.close());
after(() => demo[Symbol.asyncDispose]());

const headline = (of: Page = page): Locator => of.getByRole('heading', { level: 1 });
const editor = (of: Page = page): Locator => of.getByLabel('Policy, in YAML');
const rehearse = (of: Page = page): Locator => of.getByRole('button', { name: 'Rehearse', exact: true });

async function open(of: Page = page): Promise<void> {
  await of.getByRole('navigation').getByRole('link', { name: 'Rehearse' }).click();
  await headline(of).filter({ hasText: 'What would this policy have done?' }).waitFor();
}

/** Nobody is fenced under it: what it lets go, it lets go on other grounds, and later. */
async function withoutLadder(of: Page = page): Promise<void> {
  const text = await editor(of).inputValue();
  assert.match(text, /\n {2}thresholds:\n/);
  const lines = text.split('\n');
  const from = lines.indexOf('  thresholds:');
  const to = lines.findIndex((line, at) => at > from && /^ {2}\w/.test(line) && line !== '  remedies:');
  await editor(of).fill([...lines.slice(0, from), ...lines.slice(to)].join('\n'));
}

const later = /^Proposed: (node-\d) is released after .+ instead of 1\d(\.\d)? s; nobody else is touched\.$/;

test('[EXP-2, USE-4] another policy beside the one in force: both runs on one axis, one sentence above, a table below, and nothing is done', async () => {
  const node = await nodeOfDatabase(page);
  await open();
  await page.getByLabel('Node', { exact: true }).selectOption(node);
  await page.getByText(`${node} loses its power.`).waitFor();
  await withoutLadder();
  await rehearse().click();
  await page.getByRole('progressbar', { name: 'How far it is' }).waitFor();
  await headline().filter({ hasText: later }).waitFor();
  assert.equal(later.exec(await headline().innerText())?.[1], node);
  for (const run of ['In force', 'Proposed']) {
    await page.getByRole('group', { name: `${run}: what would happen, on an axis of time` }).waitFor();
  }
  const ticks = await page
    .locator('.lane-picture')
    .evaluateAll((all) => all.map((one) => one.querySelector('.grid')?.textContent));
  assert.equal(ticks.length, 2);
  assert.equal(ticks[0], ticks[1], 'the same axis');
  await page.getByRole('button', { name: new RegExp(`^${node}, \\+1\\d.*: found off\\. its device says off`) }).hover();
  await page
    .locator('.evidence', { hasText: `${node}: found off its device says off, and nobody had told it to` })
    .waitFor();
  await page
    .getByRole('row', { name: /^default\/database-0 node-\d goes .* runs .* on node-\d goes .* runs / })
    .waitFor();
  await page.getByText('20 min were simulated').waitFor();
  await page.goto(`${demo.url}#/`);
  await headline().filter({ hasText: 'Nothing needs you. All nodes are well.' }).waitFor();
  assert.doesNotMatch(await page.locator('.story').innerText(), /fence|released/);
  assert.deepEqual(demo.problems, []);
});

test('[USE-4] all of it is in the address: whoever opens it finds the same, and back goes back', async () => {
  await open();
  await page.getByLabel('What', { exact: true }).selectOption('a switch');
  await page.getByLabel('Zone', { exact: true }).selectOption('z2');
  await page.getByLabel('Mended', { exact: true }).selectOption('after 5m');
  await editor().fill(`# mine\n${await editor().inputValue()}`);
  await rehearse().click();
  await headline().filter({ hasText: 'both nodes are released after' }).waitFor();
  const other = await demo.page({}, new URL(page.url()).hash);
  await other
    .getByText(
      'The switch of zone z2 breaks: all 2 nodes of it run on, and nobody hears of them; after 5m it is mended.',
    )
    .waitFor();
  assert.equal(await editor(other).inputValue(), await editor().inputValue());
  await other.getByText('--zone z2 --how partition --ends-after 5m --run-for 20m --policy new-policy.yaml').waitFor();
  await other.close();
  await page
    .getByRole('link', { name: /^node-\d$/ })
    .first()
    .click();
  await headline()
    .filter({ hasText: /node-\d is healthy/ })
    .waitFor();
  await page.goBack();
  await headline().filter({ hasText: 'both nodes are released after' }).waitFor();
  assert.deepEqual(demo.problems, []);
});

test('[EXP-2] a mistake is told at the field, with its line and what to write instead; nothing is rehearsed', async () => {
  await open();
  await editor().fill((await editor().inputValue()).replace('thresholds:', 'treshholds:'));
  await rehearse().click();
  const mistake = page
    .getByRole('alert')
    .getByText('spec.treshholds: there is no such field; did you mean thresholds?');
  await mistake.waitFor();
  assert.equal(await editor().getAttribute('aria-invalid'), 'true');
  await page.getByText('nothing was rehearsed: the policy has mistakes').waitFor();
  await page.getByRole('button', { name: /^line \d+$/ }).click();
  const selected =
    'document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)';
  assert.equal(String(await page.evaluate(selected)).trim(), 'treshholds:');
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', { name: 'Undo all changes' }).click();
  await rehearse().click();
  await headline()
    .filter({ hasText: /^In force: node-1 is / })
    .waitFor();
  assert.equal(await mistake.count(), 0);
  assert.deepEqual(demo.problems, []);
});

test('[EXP-2] a BMC that lies, under a policy of the reference: what is released, on what, and a rehearsal that is left', async () => {
  await open();
  await page.getByLabel('What', { exact: true }).selectOption('a node with a lying BMC');
  await page.getByText('its BMC says yes to every command, and does nothing').waitFor();
  await page.getByLabel('Begin with').selectOption('reference: No device that could switch anything off');
  await editor().filter({ hasText: '' }).waitFor();
  assert.match(await editor().inputValue(), /metadata: \{name: demo\}/, 'it takes the place of the one in force');
  await page.getByLabel('Look for').selectOption('6h');
  await rehearse().click();
  await page.getByRole('button', { name: 'Leave it' }).click();
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
  await page.getByLabel('Look for').selectOption('20m');
  await rehearse().click();
  await headline()
    .filter({ hasText: /^Proposed/ })
    .waitFor();
  assert.match(await headline().innerText(), /node-1 is .*; nobody else is touched\.$/);
  assert.deepEqual(demo.problems, []);
});

test('[USE-4] by the keyboard alone: choose, change the text, rehearse, read a mark', async () => {
  await open();
  await page.getByLabel('Node', { exact: true }).focus();
  await page.keyboard.press('ArrowDown');
  await page.getByText('node-2 loses its power.').waitFor();
  await editor().focus();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('# mine\n');
  await page.keyboard.press('Control+Enter');
  await headline()
    .filter({ hasText: /^Proposed as in force: node-2 is / })
    .waitFor();
  await page
    .getByRole('button', { name: /^node-2, 0: silent\./ })
    .first()
    .focus();
  await page.locator('.evidence', { hasText: 'node-2: silent it fails; nothing is heard of it for' }).waitFor();
  await page.keyboard.press('Tab');
  await page.locator('.evidence', { hasText: 'node-2: silent' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Plugs' }).waitFor();
  assert.deepEqual(demo.problems, []);
});

test('[USE-4] axe-core finds nothing wrong with what came of it, in light and dark, on a desk and on a phone; the picture of docs/console.md', async () => {
  const desk = { width: 1200, height: 1400 };
  const phone = { width: 390, height: 844 };
  for (const [colorScheme, viewport] of [
    ['light', desk],
    ['dark', desk],
    ['light', phone],
    ['dark', phone],
  ] as const) {
    const hash = '#/rehearse?what=node&which=node-3&look=5m';
    const shows = async (other: Page): Promise<void> => {
      await withoutLadder(other);
      await rehearse(other).click();
      await headline(other)
        .filter({ hasText: /^Proposed: node-3 / })
        .waitFor();
      assert.deepEqual(await violations(other), [], `${colorScheme} ${viewport.width}`);
      const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      assert.equal(await other.evaluate(wide), 0, 'nothing reaches beyond the edge');
    };
    if (viewport === desk && colorScheme === 'light') {
      await demo.picture({ name: 'rehearse', look: { colorScheme, viewport }, hash, shows });
    } else {
      const other = await demo.page({ colorScheme, viewport }, hash);
      await editor(other).waitFor();
      await shows(other);
      await other.close();
    }
  }
  assert.deepEqual(demo.problems, []);
});
