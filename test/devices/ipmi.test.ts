import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../support/wait.ts';
import { deviceContract } from './contract.ts';
import { ipmi, ipmiParameters, startBmc } from './endpoints/ipmi.ts';
import { agentDevices, Workshop } from './endpoints/workshop.ts';

deviceContract(ipmi);

test('[FEN-10] a BMC that takes a power-off for a machine of its own is seen to be on', async () => {
  const workshop = await Workshop.open();
  try {
    const bmc = await startBmc(workshop, { name: 'liar', guid: 'c'.repeat(32), liar: true });
    const device = (await agentDevices('fence_ipmilan'))(ipmiParameters(bmc, { powerTimeout: '3' }));
    const ask = (action: 'status' | 'off') => device.ask(action, new AbortController().signal);
    await waitFor('the BMC', async () => (await ask('status')).kind === 'status');
    const answer = await ask('off');
    assert.notEqual(answer.kind, 'refused', JSON.stringify(answer));
    const status = await ask('status');
    assert.ok(status.kind === 'status' && status.power === 'on', JSON.stringify(status));
  } finally {
    await workshop.close();
  }
});
