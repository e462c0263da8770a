import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outletsOf, plugOf } from './plug.ts';

const base = { ip: 'pdu1.example', plug: '2' };

function isShared(other: Record<string, string>, driver = 'agent:fence_apc_snmp'): boolean {
  const [one, two] = [base, { ...base, ...other }].map((parameters) => outletsOf(plugOf(driver, parameters) ?? ''));
  return one?.some((outlet) => two?.includes(outlet)) === true;
}

test('[SAF-1] two nodes with an outlet in common share it, however that is written', () => {
  for (const plug of ['2', '1,2', '2, 3', '02', ' 2 ']) assert.ok(isShared({ plug }), plug);
  for (const ip of ['PDU1.Example', 'pdu1.example.', ' pdu1.example']) assert.ok(isShared({ ip }), ip);
  assert.ok(isShared({ ipport: '161' }), 'the port that is meant where none is written');
  assert.ok(isShared({ ipport: '0161' }));
});

test('[SAF-1] what is another outlet, host or port is another one', () => {
  for (const plug of ['3', '1,3', '20', '22', 'b2']) assert.equal(isShared({ plug }), false, plug);
  assert.equal(isShared({ ip: 'pdu2.example' }), false);
  assert.equal(isShared({ ipport: '162' }), false);
  assert.equal(isShared({ ipport: '161' }, 'agent:fence_of_our_own'), false, 'nobody knows which it would take');
  assert.equal(isShared({ systems_uri: '/redfish/v1/Systems/2' }), false);
  assert.equal(isShared({ ipport: '443' }, 'agent:fence_redfish'), true);
  assert.equal(isShared({ ipport: '623' }, 'agent:fence_ipmilan'), true);
});

test('[SAF-1] an instance is known by its ID alone, and one that its node names is not compared', () => {
  assert.equal(plugOf('built-in', base), undefined);
  assert.equal(plugOf('agent:fence_apc', { plug: '1' }), undefined);
  const cloud = plugOf('driver:aws', { instance: 'i-1' });
  assert.equal(cloud, plugOf('driver:aws', { instance: 'i-1', region: 'x' }));
  assert.notEqual(cloud, plugOf('driver:aws', { instance: 'i-2' }));
});
