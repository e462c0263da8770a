import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AllowedParameter } from '../api/agent-parameters.ts';
import { checkAgentParameters } from './agent-check.ts';
import { isSecretName, parseMetadata, type AgentMetadata } from './agent-metadata.ts';
import type { DeviceParameters } from './device.ts';

/** In the shape in which the agents print it. */
function metadataOf(agent: string, parameters: Record<string, string>): AgentMetadata {
  const lines = Object.entries(parameters).map(([name, rest]) => {
    const [attributes = '', content = 'type="string"', options = ''] = rest.split('|');
    return `\t<parameter name="${name}" unique="0" ${attributes}>
\t\t<getopt mixed="-x, --${name}=[&lt;x&gt;]" />
\t\t<content ${content}  />${options
      .split(' ')
      .filter(Boolean)
      .map((value) => `<option value="${value}" />`)
      .join('')}
\t\t<shortdesc lang="en">A & B</shortdesc>\n\t</parameter>`;
  });
  const xml = `<?xml version="1.0" ?>
<resource-agent name="${agent}" shortdesc="Fence agent" ><longdesc>x < y</longdesc>
<parameters>\n${lines.join('\n')}\n</parameters>
<actions>\n\t<action name="on" automatic="0"/>\n\t<action name="off" />\n\t<action name="status" />\n</actions>
</resource-agent>`;
  const metadata = parseMetadata(xml);
  assert.ok(metadata);
  return metadata;
}

const ipmilan = metadataOf('fence_ipmilan', {
  action: 'required="1"|type="string" default="reboot"',
  auth: 'required="0"|type="select"|md5 password none',
  cipher: 'required="0"',
  debug_file: 'required="0"',
  ip: 'required="1" obsoletes="ipaddr"',
  ipaddr: 'required="0" deprecated="1"',
  ipmitool_path: 'required="0"|type="string" default="/usr/bin/ipmitool"',
  ipport: 'required="0"|type="integer" default="623"',
  lanplus: 'required="0"|type="boolean" default="0"',
  login: 'required="0" deprecated="1"',
  method: 'required="0"|type="select" default="onoff"|onoff cycle',
  missing_as_off: 'required="0"|type="boolean"',
  passwd: 'required="0" deprecated="1"',
  passwd_script: 'required="0" deprecated="1"',
  password: 'required="0" obsoletes="passwd"',
  password_script: 'required="0" obsoletes="passwd_script"',
  plug: 'required="0" obsoletes="port"',
  port: 'required="0" deprecated="1"',
  power_timeout: 'required="0"|type="second" default="20"',
  ssh_options: 'required="0"',
  sudo: 'required="0" deprecated="1"|type="boolean"',
  username: 'required="0" obsoletes="login"',
  verbose: 'required="0"|type="boolean"',
});

const good: DeviceParameters = {
  plain: { ip: '10.0.0.7', ipport: '623', username: 'admin', lanplus: '1', auth: 'MD5', power_timeout: '40' },
  secret: { password: `p w'"\\$` },
};

function problemsOf(
  plain: Record<string, string>,
  secret: Record<string, string> = {},
  allowed: readonly AllowedParameter[] = [],
): string[] {
  const problems = checkAgentParameters(
    ipmilan,
    {
      plain: { ...good.plain, ...plain },
      secret: { ...good.secret, ...secret },
    },
    allowed,
  );
  return problems.map(({ key, problem }) => `${key}: ${problem}`);
}

describe('metadata of an agent', () => {
  test('knows every parameter by its names, with kind, default and choices', () => {
    assert.equal(ipmilan.parameters.get('ipaddr'), ipmilan.parameters.get('ip'));
    assert.deepEqual(ipmilan.parameters.get('auth'), {
      name: 'auth',
      type: 'select',
      options: ['md5', 'password', 'none'],
      isRequired: false,
      isSecret: false,
    });
    assert.equal(ipmilan.parameters.get('ipport')?.default, '623');
    assert.deepEqual([...ipmilan.actions], ['on', 'off', 'status']);
  });

  test('what is not metadata is told from it', () => {
    for (const text of ['', 'Usage: fence_x', '<resource-agent name="fence_x"></resource-agent>']) {
      assert.equal(parseMetadata(text), undefined);
    }
  });

  test('credentials are known by their names', () => {
    const secrets = [
      'password',
      'passwd',
      'snmp_priv_passwd',
      'community',
      'secret_key',
      'token',
      'apikey',
      'hexadecimal_kg',
    ];
    assert.deepEqual(
      secrets.filter((name) => !isSecretName(name)),
      [],
    );
    const plain = ['ip', 'username', 'password_script', 'token_file', 'snmp_auth_prot', 'identity_file', 'plug'];
    assert.deepEqual(
      plain.filter((name) => isSecretName(name)),
      [],
    );
  });
});

describe('parameters of an agent', () => {
  test('[FEN-7] what an agent understands passes', () => {
    assert.deepEqual(problemsOf({}), []);
    assert.deepEqual(problemsOf({ ip: 'bmc-7.example.net' }), []);
    assert.deepEqual(problemsOf({ ip: 'fe80::1' }), []);
    assert.deepEqual(problemsOf({ ip: '10.0.0.7:8443' }), []);
  });

  test('[FEN-7] an unknown key is found, with the nearest that exists', () => {
    assert.deepEqual(problemsOf({ lanpuls: '1' }), ['lanpuls: fence_ipmilan does not know it: did you mean lanplus?']);
    assert.deepEqual(problemsOf({}, { pasword: 'x' }), [
      'pasword: fence_ipmilan does not know it: did you mean password?',
    ]);
  });

  test('[FEN-7] what is needed and missing is named', () => {
    const problems = checkAgentParameters(ipmilan, { plain: {}, secret: {} }, []);
    assert.deepEqual(problems, [{ key: 'ip', problem: 'fence_ipmilan needs it: write ip=…' }]);
  });

  const refused: Record<string, [Record<string, string>, RegExp]> = {
    'a reboot': [{ action: 'reboot' }, /^action: the action is chosen by the fence method/],
    'a power cycle': [{ method: 'cycle' }, /^method: .*never cycled/],
    'a script, which the agent would run': [{ password_script: '/bin/x' }, /^password_script: .*run/],
    'a script under its older name': [{ passwd_script: '/bin/x' }, /^passwd_script: .*run/],
    'the path of a program': [{ ipmitool_path: '/tmp/ipmitool' }, /^ipmitool_path: .*run/],
    sudo: [{ sudo: '1' }, /^sudo: /],
    'verbose output, which holds credentials': [{ verbose: '1' }, /^verbose: .*credentials/],
    'a debug file': [{ debug_file: '/tmp/x' }, /^debug_file: .*credentials/],
    'a missing machine that counts as off': [{ missing_as_off: '0' }, /^missing_as_off: .*count as off/],
    'the same under two names': [{ ipaddr: '10.0.0.8' }, /^ipaddr: it says the same as ip/],
    'a line of its own': [{ plug: '1\naction=reboot' }, /^plug: .*line break/],
    'a value in quotes': [{ plug: '"1"' }, /^plug: it is in quotes/],
    'a blank at the end': [{ plug: '1 ' }, /^plug: .*blank/],
    'an empty value': [{ plug: '' }, /^plug: it is empty/],
    'a switch that is neither': [{ lanplus: 'maybe' }, /^lanplus: write 1 or 0/],
    'a number that is none': [{ ipport: '6x3' }, /^ipport: write a whole number/],
    'a time that is none': [{ power_timeout: '40s' }, /^power_timeout: write a whole number/],
    'a choice that there is not': [{ auth: 'md6' }, /^auth: write one of md5, password, none/],
    'an address that is more than that': [{ ip: '10.0.0.7 -f /etc/passwd' }, /^ip: write an address/],
    'an address that looks like an option': [{ ip: '-v' }, /^ip: write an address/],
    'arguments for the program behind': [{ cipher: '3 -v' }, /^cipher: write a whole number/],
    'a plug that is a command': [{ plug: '1; reboot' }, /^plug: /],
    'an option of ssh': [{ ssh_options: '-o StrictHostKeyChecking=yes' }, /^ssh_options: .*--allow-agent-parameters/],
    'a credential that is not in a Secret': [{ passwd: 'canary' }, /^passwd: it is a credential/],
  };
  for (const [what, [plain, problem]] of Object.entries(refused)) {
    test(`[FEN-7] ${what} is refused`, () => {
      const problems = problemsOf(plain);
      assert.ok(
        problems.some((text) => problem.test(text)),
        problems.join('\n'),
      );
    });
  }

  test('[FEN-7] the line break that often ends a Secret is found, and the value is not repeated', () => {
    const [problem, ...rest] = problemsOf({}, { password: 'canary\n' });
    assert.equal(problem, 'password: it ends with a line break: write it without one, for example with printf');
    assert.deepEqual(rest, []);
  });

  test('no problem repeats a value', () => {
    for (const value of ['canary\n', ' canary', '"canary"', 'ca\u0000nary']) {
      assert.ok(!problemsOf({}, { password: value }).join().includes('canary'));
    }
  });

  test('[FEN-8] fence_redfish needs to be told the system', () => {
    const redfish = metadataOf('fence_redfish', {
      ip: 'required="1"',
      'systems-uri': 'required="0" deprecated="1"',
      systems_uri: 'required="0" obsoletes="systems-uri"',
    });
    const check = (plain: Record<string, string>) => checkAgentParameters(redfish, { plain, secret: {} }, []);
    assert.match(check({ ip: 'bmc' })[0]?.problem ?? '', /last system/);
    assert.deepEqual(check({ ip: 'bmc', systems_uri: '/redfish/v1/Systems/1' }), []);
    assert.deepEqual(check({ ip: 'bmc', 'systems-uri': '/redfish/v1/Systems/1' }), []);
  });
});
