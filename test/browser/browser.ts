/** A browser on the page of `make run`, with everything that a page can do wrong written down. */
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import type { MachineSnapshot, StagePicture } from '../../src/console/snapshot.ts';
import { ConsoleStream } from '../support/console-stream.ts';
import { DemoProcess } from '../support/demo-process.ts';
import { waitFor } from '../support/wait.ts';

/** It talks to nobody but the page: everything else that a browser does by itself is off. */
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: quiet });
}

/** A machine that was off has to boot, to be clean and to stay well for a while, and all of that on a busy machine. */
const mendMs = 240_000;

export class DemoPage implements AsyncDisposable {
  readonly problems: string[] = [];
  #demo = new DemoProcess('--port', '0');
  #browser: Browser | undefined;
  #url: URL | undefined;

  static async open(): Promise<DemoPage> {
    const made = new DemoPage();
    made.#url = await made.#demo.url();
    made.#browser = await launchBrowser();
    return made;
  }

  get url(): string {
    return String(this.#url);
  }

  async page(options: BrowserContextOptions = {}, hash = '#/'): Promise<Page> {
    const page = await this.#browser?.newPage(options);
    if (page === undefined) throw new Error('there is no browser');
    page.setDefaultTimeout(90_000);
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
    await page.goto(`${this.url}${hash}`);
    return page;
  }

  /** As if no test had been before: one that has failed must not have the next ones fail as well. */
  async mend(): Promise<void> {
    this.problems.splice(0);
    using seen = await ConsoleStream.open(new URL(this.url));
    await waitFor('the machines', () => seen.machines.length === 6 && seen.head !== undefined);
    for (const machine of seen.machines) {
      for (const action of mendingOf(machine)) await this.#post(`nodes/${machine.name}/${action}`);
      if (seen.node(machine.name)?.cordoned === true) await this.#post(`nodes/${machine.name}/uncordon`);
    }
    for (const { node, reason } of seen.head?.needs ?? []) {
      if (reason === 'Stopped' && node !== undefined) await this.#post(`acts/resume/${node}`);
    }
    // A boot need not be waited for.
    if (!isWell(seen)) await this.#post('time/10');
    await waitFor('all to be well', () => isWell(seen), { timeoutMs: mendMs });
    await this.#post('time/1');
    await waitFor('time to pass as usual', () => rateOf(seen) === 1);
  }

  /** The server is gone, with its cluster. */
  async end(): Promise<void> {
    this.#demo.interrupt();
    await this.#demo.ended;
  }

  /** Another one, at the same address. */
  async begin(): Promise<void> {
    this.#demo = new DemoProcess('--port', String(this.#url?.port));
    await this.#demo.url();
  }

  /** Anew with FENCELINE_PICTURES=1: no two runs draw the same. `shows`: waits until what is to be seen is there. */
  async picture(options: {
    name: string;
    look: BrowserContextOptions;
    hash: string;
    shows?: (page: Page) => Promise<unknown>;
  }): Promise<void> {
    const { name, look, hash, shows } = options;
    const file = `docs/pictures/${name}.png`;
    const page = await this.page(look, hash);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('.live.c-live').waitFor({ state: 'attached' });
    await shows?.(page);
    if (process.env['FENCELINE_PICTURES'] === '1') await page.screenshot({ path: file, animations: 'disabled' });
    await page.close();
    assert.ok(statSync(file).size < 150_000, file);
    const text = readFileSync('docs/console.md', 'utf8');
    assert.ok(text.includes(`pictures/${name}.png`), `docs/console.md does not show ${file}`);
  }

  async #post(path: string): Promise<void> {
    await fetch(new URL(path, this.url), { method: 'POST', headers: { 'x-fenceline-console': '1' } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.close();
    await this.end();
  }
}

function rateOf({ parts }: ConsoleStream): number | undefined {
  return (parts.get('stage') as StagePicture | undefined)?.rate;
}

function mendingOf({ power, linked, hung, fault }: MachineSnapshot): string[] {
  return [
    ...(fault === 'none' ? [] : ['device-none']),
    ...(linked ? [] : ['heal']),
    ...(hung ? ['wake'] : []),
    ...(power === 'on' ? [] : ['power-on']),
  ];
}

function isWell({ machines, nodes }: ConsoleStream): boolean {
  const ready = machines.flatMap(({ pods }) => pods).filter((pod) => pod.ready && pod.namespace === 'default');
  return (
    machines.every((machine) => mendingOf(machine).length === 0) &&
    nodes.length === 6 &&
    nodes.every(({ mark, schedulable, cordoned }) => mark === 'healthy' && schedulable && !cordoned) &&
    ready.length === 4
  );
}

const axe = createRequire(import.meta.url).resolve('axe-core');

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe-core finds wrong with the page as it is, each with where and why. */
export async function violations(page: Page): Promise<string[]> {
  // Its script comes from the test and not from the page, whose policy would refuse it.
  await page.evaluate(readFileSync(axe, 'utf8'));
  const found = (await page.evaluate('axe.run(document).then(({ violations }) => violations)')) as Violation[];
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

/** The node that runs the first member of the database, once all are well. */
export async function nodeOfDatabase(page: Page): Promise<string> {
  await page.locator('a.node.m-healthy').nth(5).waitFor();
  const tile = page.locator('a.node', { hasText: 'database-0' });
  return (await tile.getAttribute('data-node')) ?? '';
}
