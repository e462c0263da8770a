/** The page of `make run`, in a browser, as somebody uses it who has never seen it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { waitFor } from '../support/wait.ts';

const demo = spawn('bin/fenceline', ['demo', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
const problems: string[] = [];
let browser: Browser;
let page: Page;

before(async () => {
  let output = '';
  demo.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  const [, url = ''] = await waitFor('the address', () => /console +(http:\S+)/.exec(output));
  // It talks to nobody but the page: everything else that a browser does by itself is off.
  const quiet = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
  ];
  const args = [...quiet, '--disable-component-update', '--disable-sync'];
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  page = await browser.newPage();
  page.setDefaultTimeout(90_000);
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(url);
});

after(async () => {
  await browser?.close();
  demo.kill('SIGINT');
  if (demo.exitCode === null) await once(demo, 'exit');
});

/** The card of the node that runs the first member of the database. */
async function cardOfDatabase(): Promise<{ node: string; card: Locator }> {
  await page.locator('article .verdict.healthy').nth(5).waitFor();
  const database = page.locator('article', { hasText: 'database-0 · running' });
  const node = (await database.getAttribute('data-node')) ?? '';
  return { node, card: page.locator(`article[data-node="${node}"]`) };
}

async function movedFrom(node: string, card: Locator): Promise<void> {
  await card
    .locator('.recovery .released', { hasText: new RegExp(`released .*database-0.* · PowerOff · ${node}`) })
    .waitFor();
  await page.locator(`article:not([data-node="${node}"])`, { hasText: 'database-0 · running' }).waitFor();
  await page.locator('#story li', { hasText: `${node}: released pod default/database-0` }).waitFor();
}

test('[POD-10, FEN-10] pull the plug of the database: it comes back elsewhere, with the basis, and the node comes back', async () => {
  const { node, card } = await cardOfDatabase();
  await card.getByRole('button', { name: 'Pull the plug' }).click();
  await card.locator('.verdict.suspect').waitFor();
  await movedFrom(node, card);
  await card.locator('.fence', { hasText: 'fence: recovered' }).waitFor();
  await card.locator('.returning', { hasText: 'on its way back: clean' }).waitFor();
  await card.getByText('· schedulable').waitFor();
  assert.deepEqual(problems, []);
});

test('[FEN-1, FEN-10] cut its network: it is fenced, released and, when it can be reached again, brought back', async () => {
  const { node, card } = await cardOfDatabase();
  await card.getByRole('button', { name: 'Cut its network' }).click();
  await movedFrom(node, card);
  await card.locator('.fence', { hasText: 'fence: booting' }).waitFor();
  await card.getByText('fenceline.dev/quarantine:NoSchedule').waitFor();
  await card.getByRole('button', { name: 'Mend its network' }).click();
  await card.locator('.fence', { hasText: 'fence: recovered' }).waitFor();
  await card.getByText('· schedulable').waitFor();
  assert.deepEqual(problems, []);
});

test('[DRN-14] drain the node with the only copy of a volume: auto-evicting, beside unschedulable, until it is copied', async () => {
  await page.locator('article .verdict.healthy').nth(5).waitFor();
  const holder = page.locator('article', { hasText: 'photos · healthy replica' });
  const node = (await holder.getAttribute('data-node')) ?? '';
  const card = page.getByRole('article', { name: node });
  await card.locator('li.running', { hasText: 'instance-manager-' }).waitFor();
  await card.getByRole('button', { name: 'Drain' }).click();
  await card.locator('.facts', { hasText: 'unschedulable · auto-evicting' }).waitFor();
  await card.getByText(/a drain waits: evicting replicas · replica \S+ of volume photos has to be rebuilt/).waitFor();
  await page.locator('article', { hasText: 'photos · replica being made' }).waitFor();
  await card.locator('.drain', { hasText: /^drained · nothing is lost/ }).waitFor();
  assert.match(await card.locator('.facts').innerText(), /unschedulable$/, 'and no longer auto-evicting');
  assert.notEqual(await holder.getAttribute('data-node'), node);
  await page.locator('#story li', { hasText: `${node}: drained` }).waitFor();

  await card.getByRole('button', { name: 'Uncordon' }).click();
  await card.getByText('· schedulable').waitFor();
  await card.getByRole('button', { name: 'Drain' }).waitFor();
  assert.deepEqual(problems, []);
});
