import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Method } from './fence-config.ts';
import { deviceHash as recorded } from './fence-config.ts';
import { deviceHash as known } from './power.ts';

test('[SAF-1, FEN-6] a device is another one by where it is and who may reach it, and not by how long it is waited for', () => {
  const method = (parameters: Record<string, string>): Method => ({
    name: 'f-off',
    action: 'off',
    driver: 'agent:fence_apc',
    parameters,
    secrets: [],
  });
  const hashes = (parameters: Record<string, string>): unknown => [
    recorded(method(parameters)),
    known(method(parameters)),
  ];
  const plain = hashes({ ip: '10.0.0.1', plug: '1' });
  assert.deepEqual(hashes({ plug: '1', power_wait: '2', 'shell-timeout': '9', ip: '10.0.0.1' }), plain);
  for (const other of [{ plug: '2' }, { ip: '10.0.0.2' }, { ipport: '23' }, { username: 'x' }]) {
    const [one, two] = hashes({ ip: '10.0.0.1', plug: '1', ...other }) as string[];
    assert.ok(!(plain as string[]).includes(one ?? '') && !(plain as string[]).includes(two ?? ''));
  }
});
