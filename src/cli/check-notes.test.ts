import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/power.ts';
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import { notesOf } from './check-notes.ts';

const method: Method = { name: 'bmc-off', action: 'off', driver: 'agent:fence_redfish', parameters: {}, secrets: [] };
const answer = {
  method: 'bmc-off',
  device: 'bmc',
  power: 'on',
  identity: 'same',
  believed: true,
  message: 'it says on',
} as const;

describe('notes of a check', () => {
  const node = aNode({ kubelet: { address: '10.1.0.1', port: 10_250 } });
  const notes = (status: FenceDeviceStatus, of = node): string[] => {
    const configuration = deviceHash(method);
    const devices = [
      { metadata: { name: 'node-1.bmc-off' }, spec: { node: 'node-1' }, status: { configuration, ...status } },
    ];
    return notesOf(of, method, { answer, devices, config: { ok: false, problems: [] } });
  };

  test('[EVD-4, EXP-3] whose power is watched, and whose port does not answer the operator', () => {
    assert.deepEqual(notes({ watch: 'Watched' }), []);
    assert.deepEqual(notes({ watch: 'PortSilent' }), [
      'TCP port 10250 of 10.1.0.1 does not answer the operator: a lost power is believed when its Lease is overdue',
    ]);
    assert.deepEqual(notes({ watch: 'PortSilent', configuration: 'another' }), []);
    assert.match(notes({ watch: 'PortSilent' }, aNode()).join(), /^its kubelet does not say where it listens: /);
  });
});
