import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NamedData } from '../api/fence-config.ts';
import type { ConfigSources } from './config.ts';
import { configOf, defaultConfig } from './config.ts';
import { parseProperties } from './properties.ts';

const templates: NamedData[] = [
  {
    name: 'fence-method-template-fc-switch-brocade',
    data: { 'template.properties': 'agent=fence_brocade\nip=10.0.0.9\nsecret=switch-login' },
  },
  {
    name: 'fence-method-template-eaton-pdu',
    data: { 'template.properties': '# the rack of {{rack}}\nagent=fence_eaton_snmp\nip=pdu-{{node}}.example.com' },
  },
];
const secrets = new Set(['switch-login']);

/** The source's own example, but for names. */
const bareMetal: NamedData = {
  name: 'fence-config-worker-1',
  data: {
    'config.properties': 'node_name=worker-1\nisolation=fc-off\npower_management=eaton-off eaton-on\nrecovery=fc-on',
    'fence-method-fc-on': 'template=fence-method-template-fc-switch-brocade\nplug=2\naction=on',
    'fence-method-fc-off': 'template=fence-method-template-fc-switch-brocade\nplug=2\naction=off',
    'fence-method-eaton-on': 'template=fence-method-template-eaton-pdu\nplug=1\naction=on',
    'fence-method-eaton-off': 'template=fence-method-template-eaton-pdu\nplug=1\naction=off',
  },
};

const worker = { name: 'worker-1', labels: { type: 'compute' } };

function sources(...configs: NamedData[]): ConfigSources {
  return { maps: [...configs, ...templates], secrets };
}

function edited(changes: Record<string, string | undefined>): NamedData {
  const data: Record<string, string> = {};
  for (const [key, value] of Object.entries({ ...bareMetal.data, ...changes }))
    if (value !== undefined) data[key] = value;
  return { ...bareMetal, data };
}

function problemsOf(config: NamedData, more: Partial<ConfigSources> = {}): string[] {
  const result = configOf(worker, { ...sources(config), ...more });
  return result.ok ? [] : result.problems.map(({ file, key, reason }) => `${file} ${key}: ${reason}`);
}

describe('fence configuration', () => {
  test('[SEC-3] identity=unchecked of a method or of its template is refused where that is forbidden', () => {
    const method = (line: string): NamedData =>
      edited({
        'fence-method-fc-off': `template=fence-method-template-fc-switch-brocade\naction=off\nplug=2\n${line}`,
      });
    const forbidden = ['UncheckedDevices'] as const;
    assert.deepEqual(problemsOf(method('identity=unchecked'), { forbidden }), [
      'fence-config-worker-1 fence-method-fc-off: identity: it is unchecked, and this operator was told to forbid ' +
        'UncheckedDevices: name the machine',
    ]);
    assert.deepEqual(problemsOf(method('identity=unchecked'), { forbidden: ['Jobs'] }), []);
    assert.deepEqual(problemsOf(method('identity=unchecked')), []);
    assert.deepEqual(problemsOf(method('identity=4c4c4544'), { forbidden }), []);
    const maps = [bareMetal, ...templates].map((map) =>
      map.name === 'fence-method-template-fc-switch-brocade'
        ? { ...map, data: { 'template.properties': `${map.data['template.properties']}\nidentity=unchecked` } }
        : map,
    );
    assert.match(problemsOf(bareMetal, { maps, forbidden }).join(), /identity: it is unchecked/);
  });

  test('[SEC-1] a value that an agent would take for more than it says is refused with file, key and what to write', () => {
    const method = (line: string): NamedData =>
      edited({
        'fence-method-fc-off': `template=fence-method-template-fc-switch-brocade\naction=off\nplug=2\n${line}`,
      });
    assert.deepEqual(problemsOf(method('username=admin -oProxyCommand=/tmp/x y')), [
      'fence-config-worker-1 fence-method-fc-off:4 username: write the name of the user: letters, digits and . _ @ + - ' +
        'only, beginning with a letter or digit',
    ]);
    assert.match(
      problemsOf(method('identity_file=/etc/shadow')).join(),
      /:4 identity_file: it names a file.*started with/,
    );
    const allowed = [{ agent: 'fence_brocade', key: 'identity_file', value: '/keys/fc' }];
    assert.deepEqual(problemsOf(method('identity_file=/keys/fc'), { allowed }), []);
    assert.equal(problemsOf(method('identity_file=/keys/other'), { allowed }).length, 1);
    const agent = {
      name: 'fence-method-template-fc-switch-brocade',
      data: { 'template.properties': 'agent=../../tmp/x' },
    };
    const maps = [bareMetal, agent, ...templates.filter(({ name }) => name !== agent.name)];
    const [first] = problemsOf(bareMetal, { maps });
    assert.match(
      first ?? '',
      /^fence-method-template-fc-switch-brocade template.properties: agent: it is not run: the name/,
    );
  });

  test('[FEN-6] a Secret for each node: {{…}} is filled in secret= as everywhere', () => {
    const template = 'agent=fence_brocade\nip=10.0.0.9\nsecret=login-{{node}} shared';
    const name = 'fence-method-template-fc-switch-brocade';
    const maps = [bareMetal, { name, data: { 'template.properties': template } }, ...templates.slice(1)];
    const result = configOf(worker, { maps });
    assert.ok(result.ok);
    assert.deepEqual(result.config.isolation[0]?.off[0]?.secrets, ['login-worker-1', 'shared']);
    const missing = configOf(worker, { maps, secrets: new Set(['shared']) });
    assert.match(missing.ok ? '' : (missing.problems[0]?.reason ?? ''), /^there is no Secret login-worker-1/);
  });

  test('[FEN-6] a selector means what it says, and one that nobody can read leaves no node to the default', () => {
    const shared = (selector: string): NamedData => ({
      name: 'fence-config-shared',
      data: { ...bareMetal.data, 'config.properties': `selector=${selector}\npower_management=eaton-off eaton-on` },
    });
    const source = (selector: string): string | undefined => {
      const result = configOf(worker, sources(shared(selector)));
      return result.ok ? (result.config.source ?? 'none') : result.problems[0]?.reason;
    };
    assert.equal(source('type!=storage'), 'fence-config-shared');
    assert.equal(source('type!=compute'), 'none');
    assert.equal(source('type in (compute, storage)'), 'fence-config-shared');
    assert.equal(source('type notin (compute)'), 'none');
    assert.match(source('type>compute') ?? '', /^"type>compute" cannot be read: write label=value/);
    assert.match(source('') ?? '', /^it selects by nothing/);
  });

  test("[FEN-6] the source's example: methods made from templates, off before on", () => {
    const result = configOf(worker, sources(bareMetal));
    assert.ok(result.ok);
    const { isolation, powerManagement, recovery, source } = result.config;
    assert.equal(source, 'fence-config-worker-1');
    assert.deepEqual(isolation, [
      {
        off: [
          {
            name: 'fc-off',
            action: 'off',
            driver: 'agent:fence_brocade',
            parameters: { ip: '10.0.0.9', plug: '2' },
            secrets: ['switch-login'],
          },
        ],
        on: [],
      },
    ]);
    assert.deepEqual(
      powerManagement.map(({ off, on }) => [off.map(({ name }) => name), on.map(({ name }) => name)]),
      [[['eaton-off'], ['eaton-on']]],
    );
    assert.equal(powerManagement[0]?.off[0]?.parameters['ip'], 'pdu-worker-1.example.com');
    assert.deepEqual(
      recovery[0]?.on.map(({ name }) => name),
      ['fc-on'],
    );
  });

  test('[FEN-6] without a ConfigMap the default of the provider applies', () => {
    const result = configOf(worker, sources());
    assert.deepEqual(result, { ok: true, config: defaultConfig });
    const written = 'isolation=mark-unschedulable\npower_management=restart-instance\nrecovery=mark-unschedulable';
    const same = configOf(worker, sources({ name: 'fence-config-worker-1', data: { 'config.properties': written } }));
    assert.deepEqual(
      same,
      { ok: true, config: { ...defaultConfig, source: 'fence-config-worker-1' } },
      'as in the source',
    );
  });

  test('[FEN-6] a colon in the place of an equals sign is told as such, and leaves no node to the default', () => {
    const shared = { name: 'fence-config-pool', data: { 'config.properties': 'selector: type=compute' } };
    const result = configOf(worker, sources(shared));
    assert.deepEqual(result.ok ? [] : result.problems, [
      {
        file: 'fence-config-pool',
        key: 'config.properties:1',
        reason: 'after selector stands a colon: write selector=…, with an equals sign',
      },
    ]);
    const own = { name: `fence-config-${worker.name}`, data: { 'config.properties': 'isolation : hunter2' } };
    const told = configOf(worker, sources(own));
    assert.match(JSON.stringify(told), /after isolation stands a colon: write isolation=…/);
    assert.doesNotMatch(JSON.stringify(told), /hunter2/, 'what is written there may be a credential');
  });

  test('[FEN-6] a selector makes one ConfigMap serve many nodes, each with its own values', () => {
    const shared: NamedData = {
      name: 'fence-config-rack-7',
      data: {
        'config.properties': 'selector=type=compute\npower_management=pdu-off pdu-on',
        'fence-method-pdu-off': 'template=fence-method-template-eaton-pdu\nplug={{plug}}\naction=off',
        'fence-method-pdu-on': 'template=fence-method-template-eaton-pdu\nplug={{ plug }}\naction=on',
        'values.worker-1': 'plug=4',
        'values.worker-2': 'plug=5',
      },
    };
    const plugOf = (name: string): string | undefined => {
      const result = configOf({ name, labels: { type: 'compute' } }, sources(shared));
      return result.ok ? result.config.powerManagement[0]?.off[0]?.parameters['plug'] : undefined;
    };
    assert.deepEqual([plugOf('worker-1'), plugOf('worker-2'), plugOf('worker-3')], ['4', '5', undefined]);
    const missing = configOf({ name: 'worker-3', labels: { type: 'compute' } }, sources(shared));
    assert.match(
      missing.ok ? '' : (missing.problems[0]?.reason ?? ''),
      /\{\{plug\}\} has no value for node worker-3: write plug=/,
    );
    const other = configOf({ name: 'worker-3', labels: { type: 'storage' } }, sources(shared));
    assert.deepEqual(other, { ok: true, config: defaultConfig });
    const twice = configOf(worker, sources(shared, { ...shared, name: 'fence-config-rack-8' }));
    assert.match(twice.ok ? '' : (twice.problems[0]?.reason ?? ''), /rack-7 and fence-config-rack-8 both select/);
    const own = configOf(worker, sources(shared, bareMetal));
    assert.equal(own.ok && own.config.source, 'fence-config-worker-1', 'its own comes first');
  });

  test('[FEN-14] levels are separated by a bar', () => {
    const levels = 'node_name=worker-1\npower_management=eaton-off eaton-on | fc-off | restart-instance';
    const result = configOf(worker, sources(edited({ 'config.properties': levels })));
    assert.ok(result.ok);
    assert.deepEqual(
      result.config.powerManagement.map(({ off, on }) =>
        [...off, ...on].map(({ name, action }) => `${name}:${action}`),
      ),
      [['eaton-off:off', 'eaton-on:on'], ['fc-off:off'], ['restart-instance:off', 'restart-instance:on']],
    );
  });

  test('[FEN-7] every mistake is found where it stands, with what to write instead', () => {
    const properties = (text: string): NamedData => edited({ 'config.properties': text });
    const cases: [NamedData, RegExp][] = [
      [properties('isolation=fc-of'), /config.properties: there is no method fc-of: did you mean fc-off\?/],
      [
        properties('node_name=worker-2\nisolation=fc-off'),
        /config.properties:1 node_name: it says worker-2, and the node is worker-1/,
      ],
      [
        properties('power_managment=eaton-off'),
        /config.properties:1: "power_managment" is not known: did you mean power_management\?/,
      ],
      [properties('power_management=eaton-on'), /nothing in "eaton-on" switches the power off/],
      [properties('power_management=mark-unschedulable | eaton-off'), /nothing in "mark-unschedulable" switches/],
      [properties('power_management=eaton-on eaton-off'), /eaton-off switches off after something was switched on/],
      [properties('node_name=worker-1'), /there is nothing to fence with/],
      [properties('isolation'), /config.properties:1: the line is no property: write key=value/],
      [
        properties('isolation=fc-off\nisolation=fc-off'),
        /config.properties:2: isolation was written in line 1 already/,
      ],
      [edited({ 'config.properties': undefined }), /config.properties: the entry is missing/],
      [edited({ 'fence-metod-x': 'a=b' }), /"fence-metod-x" is not known: did you mean fence-method-\?/],
      [edited({ 'fence-method-fc-off': 'plug=2\naction=off' }), /fence-method-fc-off: it names no template/],
      [
        edited({ 'fence-method-fc-off': 'template=fence-method-template-fc-switch\naction=off' }),
        /fence-method-fc-off: template: there is no ConfigMap .* did you mean fence-method-template-fc-switch-brocade\?/,
      ],
      [
        edited({ 'fence-method-fc-off': 'template=fence-method-template-eaton-pdu\naction=reboot' }),
        /fence-method-fc-off: action: "reboot" is not known: write two methods/,
      ],
      [
        edited({ 'fence-method-fc-off': 'template=fence-method-template-eaton-pdu' }),
        /fence-method-fc-off: action: it is missing: write off or on/,
      ],
    ];
    assert.deepEqual(problemsOf(bareMetal), []);
    for (const [config, expected] of cases) assert.match(problemsOf(config).join('\n'), expected);
    assert.match(
      problemsOf(bareMetal, { secrets: new Set() }).join('\n'),
      /brocade template.properties: secret: there is no Secret switch-login/,
    );
    const eatonOnly = edited({ 'config.properties': 'power_management=eaton-off' });
    const cyclic = [
      {
        name: 'fence-method-template-eaton-pdu',
        data: { 'template.properties': 'template=fence-method-template-eaton-pdu' },
      },
    ];
    const found = problemsOf(eatonOnly, { maps: [eatonOnly, ...cyclic] });
    assert.match(found.join('\n'), /a template is not made from another one/);
    const both = [{ name: 'fence-method-template-eaton-pdu', data: { 'template.properties': 'agent=a\ndriver=b' } }];
    const twofold = problemsOf(eatonOnly, { maps: [eatonOnly, ...both] });
    assert.match(twofold.join('\n'), /exactly one of agent and driver/);
  });
});

test('properties: blanks, comments and values with an equals sign', () => {
  assert.deepEqual(parseProperties('# a\n\n a = b=c \nx=').entries, [
    { key: 'a', value: 'b=c', line: 3 },
    { key: 'x', value: '', line: 4 },
  ]);
});

describe('[FEN-7] what is written', () => {
  const written = (properties: string, more: Record<string, string | undefined> = {}): NamedData =>
    edited({ 'config.properties': properties, ...more });

  test('may isolate a node alone, and a mistake is told once and by nothing else', () => {
    assert.deepEqual(problemsOf(written('isolation=fc-off')), []);
    assert.match(problemsOf(written('recovery=fc-on')).join(), /there is nothing to fence with/);
    for (const [properties, what] of [
      ['powermanagement=eaton-off', /"powermanagement" is not known/],
      ['power_management=missing', /there is no method missing/],
    ] as const) {
      const found = problemsOf(written(properties));
      assert.equal(found.length, 1, found.join());
      assert.match(found[0] ?? '', what);
    }
  });

  test('has levels with something in them, each of which ends with what switches on', () => {
    const result = configOf(worker, sources(written('power_management=eaton-off eaton-on fc-on || eaton-off |')));
    assert.ok(result.ok, JSON.stringify(result));
    const names = result.config.powerManagement.map(({ off, on }) =>
      [off, on].map((some) => some.map(({ name }) => name)),
    );
    assert.deepEqual(names, [
      [['eaton-off'], ['eaton-on', 'fc-on']],
      [['eaton-off'], []],
    ]);
    assert.match(problemsOf(written('power_management=eaton-on eaton-off')).join(), /eaton-off switches off after/);
  });

  test('means a method by its entry, and a template by its name', () => {
    assert.match(problemsOf(written('power_management=tie')).join(), /did you mean (?:fc|eaton)-o/);
    const other = written('isolation=fc-off', {
      'fence-method-fc-off': 'template=fence-config-worker-1\naction=off',
      'template.properties': 'agent=fence_brocade',
    });
    assert.match(problemsOf(other).join(), /there is no ConfigMap fence-config-worker-1/);
    const selecting = { 'config.properties': 'selector=type=compute\nisolation=mark-unschedulable' };
    const found = configOf(worker, { maps: [{ name: 'fence-method-template-x', data: selecting }], secrets });
    assert.deepEqual(found, { ok: true, config: defaultConfig }, 'a template selects nobody');
  });

  test('may be of a driver of our own, and pins nothing with nothing', () => {
    const maps = [
      written('power_management=fc-off', {
        'fence-method-fc-off': 'template=fence-method-template-x\naction=off\nidentity=',
      }),
      { name: 'fence-method-template-x', data: { 'template.properties': 'driver=redfish\nip=10.0.0.1\nidentity=a' } },
    ];
    const result = configOf(worker, { maps, secrets });
    const [method] = result.ok ? (result.config.powerManagement[0]?.off ?? []) : assert.fail(JSON.stringify(result));
    assert.equal(method?.driver, 'driver:redfish');
    assert.equal('identity' in (method ?? {}), false);
  });
});
