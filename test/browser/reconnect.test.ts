/** The server of the page ends and begins anew: the page says what is not known, and since when, and goes on by itself. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { waitFor } from '../support/wait.ts';
import { DemoPage } from './browser.ts';

let demo: DemoPage;
before(async () => {
  demo = await DemoPage.open();
  await demo.mend();
});
after(() => demo[Symbol.asyncDispose]());

test('[USE-4, ADM-4] after a restart of the server the page goes on by itself; meanwhile it says since when nothing is known', async () => {
  const page = await demo.page();
  const live = page.locator('.live');
  const well = page.getByRole('heading', { level: 1, name: 'Nothing needs you. All nodes are well.' });
  await live.filter({ hasText: /^live/ }).waitFor();
  await well.waitFor();
  await demo.end();
  const doubt = page.getByRole('alert').filter({ hasText: 'No word from the console for' });
  await doubt.filter({ hasText: /what you see is from \d?\d:\d\d:\d\d( [AP]M)?\. Trying again…/ }).waitFor();
  await live.filter({ hasText: 'not live' }).waitFor();
  const first = await doubt.innerText();
  // What is known stays to be seen, with its age.
  await well.waitFor();
  assert.equal(await page.locator('a.node').count(), 6);
  await waitFor('the seconds to go on', async () => (await doubt.innerText()) !== first);
  const from = /from (\S+)\. Trying/;
  assert.equal(from.exec(await doubt.innerText())?.[1], from.exec(first)?.[1], 'it is from when it was last heard');
  // A page that is opened meanwhile, by the address of another one, is known no better.
  await page.getByRole('navigation').getByRole('link', { name: 'Devices' }).click();
  await doubt.waitFor();
  await demo.begin();
  await live.filter({ hasText: /^live/ }).waitFor();
  await doubt.waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: /^No device has failed its last check\./ }).waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Now' }).click();
  await well.waitFor();
  const other = demo.problems.find(
    (text) => !/ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)/.test(text),
  );
  assert.equal(other, undefined);
});
