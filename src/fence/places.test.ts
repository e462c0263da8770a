import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigResult, Method, NamedData } from '../api/fence-config.ts';
import { placesOf } from './places.ts';

const method: Method = { name: 'off', action: 'off', driver: 'agent:fence_x', parameters: {}, secrets: [] };
const from = (source: string): ConfigResult => ({
  ok: true,
  config: { source, isolation: [], powerManagement: [], recovery: [] },
});
const data = { 'fence-method-off': 'template=fence-method-template-x\nplug=3\naction=off' };
const maps: NamedData[] = [
  { name: 'fence-config-node-1', data },
  { name: 'fence-config-rack', data },
  { name: 'fence-method-template-x', data: { 'template.properties': '# of the rack\nagent=fence_x\nip=10.0.0.1' } },
];

test('[FEN-7] what is wrong is told with the object, the entry and the line', () => {
  const { of } = placesOf('node-1', from('fence-config-node-1'), maps);
  assert.equal(of(method, 'plug'), 'ConfigMap fence-config-node-1, fence-method-off:2 plug');
  assert.equal(of(method, 'agent'), 'ConfigMap fence-method-template-x, template.properties:2 agent');
  assert.equal(of(method, 'username'), 'ConfigMap fence-config-node-1, fence-method-off: username', 'where it belongs');
  assert.equal(placesOf('node-1', from('fence-config-gone'), maps).of(method, 'plug'), undefined, 'it is gone');
  const written = placesOf('node-1', from('FenceDevice off'), maps).of;
  assert.equal(written(method, 'plug'), 'FenceDevice off, spec.parameters.plug');
  assert.equal(written(method, 'secret'), 'FenceDevice off, spec.secrets');
});

test('[SAF-2] the line to paste goes where it is about this node alone', () => {
  const pin = (source: string, change: Partial<Method> = {}): string => {
    const { line, into } = placesOf('node-1', from(source), maps).pin({ ...method, ...change }, 'a-guid');
    return `${line} into ${into}`;
  };
  assert.equal(pin('fence-config-node-1'), 'identity=a-guid into fence-method-off of ConfigMap fence-config-node-1');
  assert.equal(
    pin('fence-config-rack'),
    'identity={{guid}} into fence-method-off of ConfigMap fence-config-rack, and guid=a-guid into its entry values.node-1',
  );
  assert.equal(pin('fence-config-gone'), 'identity=a-guid into fence-method-off');
  assert.equal(pin('FenceDevice off', { object: 'off' }), 'identity: a-guid into spec of FenceDevice off');
  assert.equal(
    pin('FenceDevice off'),
    'identity: "{{guid}}" into spec of FenceDevice off, and guid: a-guid into spec.values.node-1',
  );
});
