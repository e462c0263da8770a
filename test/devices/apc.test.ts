import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceContract } from './contract.ts';
import { apc, startApc } from './endpoints/snmp.ts';
import { agentDevices } from './endpoints/workshop.ts';

deviceContract(apc);

test('[FEN-10] an outlet that does not exist is not off, although the agent says so', async () => {
  const endpoint = await startApc();
  try {
    const devices = await agentDevices('fence_apc_snmp');
    const { plain, secret } = endpoint.parameters('a');
    for (const snmp_version of ['1', '2c']) {
      const device = devices({ plain: { ...plain, snmp_version, plug: '9' }, secret });
      const answer = await device.ask('status', new AbortController().signal);
      assert.equal(answer.kind, 'unknown', JSON.stringify(answer));
    }
    const there = devices({ plain: { ...plain, snmp_version: '2c' }, secret });
    await endpoint.setPower('a', 'off');
    const answer = await there.ask('status', new AbortController().signal);
    assert.deepEqual(answer, { kind: 'status', power: 'off' });
  } finally {
    await endpoint.stop();
  }
});
