/** A browser on the page of `make run`, with everything that a page can do wrong written down. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
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

export class DemoPage implements AsyncDisposable {
  readonly problems: string[] = [];
  readonly #demo = spawn('bin/fenceline', ['demo', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  #browser: Browser | undefined;
  #url = '';

  static async open(): Promise<DemoPage> {
    const made = new DemoPage();
    let output = '';
    made.#demo.stdout.on('data', (chunk) => {
      output += String(chunk);
    });
    const [, url = ''] = await waitFor('the address', () => /console +(http:\S+)/.exec(output));
    made.#url = url;
    made.#browser = await launchBrowser();
    return made;
  }

  get url(): string {
    return this.#url;
  }

  async page(options: BrowserContextOptions = {}, hash = '#/'): Promise<Page> {
    const page = await this.#browser?.newPage(options);
    if (page === undefined) throw new Error('there is no browser');
    page.setDefaultTimeout(90_000);
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
    await page.goto(`${this.#url}${hash}`);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.close();
    this.#demo.kill('SIGINT');
    if (this.#demo.exitCode === null) await once(this.#demo, 'exit');
  }
}

const axe = createRequire(import.meta.url).resolve('axe-core');

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe-core finds wrong with the page as it is, each with where and why. */
export async function violations(page: Page): Promise<string[]> {
  // Its script comes from the test and not from the page, whose policy would refuse it.
  await page.evaluate(await import('node:fs/promises').then(({ readFile }) => readFile(axe, 'utf8')));
  const found = (await page.evaluate('axe.run(document).then(({ violations }) => violations)')) as Violation[];
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

/** The node that runs the first member of the database, once all are well. */
export async function nodeOfDatabase(page: Page): Promise<string> {
  await page.locator('a.node.m-healthy').nth(5).waitFor();
  const tile = page.locator('a.node', { hasText: 'database-0' });
  return (await tile.getAttribute('data-node')) ?? '';
}
