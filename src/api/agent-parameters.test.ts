import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AllowedParameter } from './agent-parameters.ts';
import { agentParameterProblems, whyNotAllowable } from './agent-parameters.ts';

function problemOf(
  agent: string,
  values: Record<string, string>,
  allowed: AllowedParameter[] = [],
): string | undefined {
  const [first] = agentParameterProblems(agent, values, allowed);
  return first && `${first.key}: ${first.problem}`;
}

describe('what an agent may be given', () => {
  const fine: [string, Record<string, string>][] = [
    ['fence_ipmilan', { ip: '10.0.0.7', username: 'admin', password: `p w'"\\$`, lanplus: '1', cipher: '17' }],
    ['fence_ipmilan', { plug: 'fe80::1', port_as_ip: '1' }],
    ['fence_ipmilan', { target: '0x82', hexadecimal_kg: '0a1b' }],
    ['fence_redfish', { ip: 'bmc', systems_uri: '/redfish/v1/Systems/System.Embedded.1', username: 'LAB\\admin' }],
    ['fence_apc_snmp', { plug: 'Rack 3 (left)', community: 'pub lic', snmp_sec_level: 'authPriv' }],
    ['fence_apc', { plug: '1:5,2:6', switch: '1' }],
    ['fence_cisco_mds', { plug: 'fc1/12' }],
    ['fence_virsh', { plug: 'vm-3.example', username: 'root' }],
    ['fence_drac5', { drac_version: 'DRAC CMC', plug: 'server-1' }],
    ['fence_xenapi', { session_url: 'https://xen.example', plug: 'Web server 1' }],
    ['fence_ibm_powervs', { crn: 'crn:v1:bluemix:public:power-iaas:eu:a/1::', region: 'eu-de' }],
    ['fence_wti', { login: 'super', port: 'A1', 'login-timeout': '5' }],
  ];
  for (const [agent, values] of fine) {
    test(`${agent} ${Object.keys(values).join(' ')}`, () => assert.deepEqual(problemOf(agent, values), undefined));
  }

  const refused: [string, string, Record<string, string>][] = [
    ['a program by an option of ssh', 'fence_brocade', { username: 'admin -oProxyCommand=/bin/x' }],
    ['an option', 'fence_virsh', { username: '-l' }],
    ['a command for the shell of a host', 'fence_virsh', { plug: 'vm;reboot' }],
    ['an option as the second of two plugs', 'fence_powerman', { plug: '1,-x' }],
    ['an option as the second of two plugs, parted otherwise', 'fence_powerman', { plug: '1:-x', plug_separator: ':' }],
    ['an address that is an option, by way of the plug', 'fence_ipmilan', { plug: 'a b', port_as_ip: '1' }],
    ['another host, by way of a path', 'fence_redfish', { systems_uri: '@evil.example/' }],
    ['another host, by way of a region', 'fence_ibm_vpc', { region: 'evil.example/' }],
    ['another machine, by way of a query', 'fence_rhevm', { plug: 'a or name=b' }],
    ['another machine, by way of a path', 'fence_pve', { plug: '../../x' }],
    ['a file of the machine', 'fence_xenapi', { session_url: 'file:///etc/passwd' }],
    ['an order to telnet', 'fence_netio', { password: '!reboot' }],
    ['an order to telnet with an argument', 'fence_brocade', { passwd: 'set tracefile' }],
    ['an order to ssh', 'fence_brocade', { password: '~C' }],
    ['a second attribute', 'fence_cisco_ucs', { password: 'x" y="' }],
    ['a second parameter', 'fence_ipmilan', { password: 'x\nipmitool_path=/bin/x' }],
    ['a second parameter, parted otherwise', 'fence_ipmilan', { password: 'x\u2028ipmitool_path=/bin/x' }],
    ['a parameter that nobody knows', 'fence_ipmilan', { on_error: 'x' }],
    ['the same twice', 'fence_ipmilan', { ip: '10.0.0.1', ipaddr: '10.0.0.2' }],
    ['the same twice, written otherwise', 'fence_redfish', { systems_uri: '/a', 'systems-uri': '/b' }],
    ['what every object has', 'fence_ipmilan', { constructor: 'x' }],
  ];
  for (const [what, agent, values] of refused) {
    test(`[SEC-1] ${what} is refused`, () => assert.notEqual(problemOf(agent, values), undefined));
  }

  test('[SEC-1] what goes into a shell, names a file or a program needs a start flag, and the problem says which', () => {
    const managed = { managed: 'frame-1' };
    assert.equal(
      problemOf('fence_lpar', managed),
      'managed: it goes into the shell of the management console: remove it, or have the operator started with ' +
        '--allow-agent-parameters fence_lpar:managed',
    );
    const leave = [{ agent: 'fence_lpar', key: 'managed' }];
    assert.equal(problemOf('fence_lpar', managed, leave), undefined);
    assert.match(problemOf('fence_lpar', { managed: 'a; reboot' }, leave) ?? '', /^managed: write letters/);
    assert.match(
      problemOf('fence_virsh', { identity_file: '/etc/x' }, leave) ?? '',
      /fence_virsh:identity_file=VALUE$/,
    );
  });

  test('[SEC-1] a file is allowed by its name, for its agent, and no other', () => {
    const leave = [{ agent: 'fence_virsh', key: 'identity-file', value: '/keys/virsh' }];
    const given = (agent: string, file: string) => problemOf(agent, { identity_file: file }, leave);
    assert.equal(given('fence_virsh', '/keys/virsh'), undefined);
    assert.notEqual(given('fence_virsh', '/keys/other'), undefined);
    assert.notEqual(given('fence_brocade', '/keys/virsh'), undefined);
    assert.match(whyNotAllowable({ agent: 'fence_virsh', key: 'identity_file' }) ?? '', /name the value/);
  });

  test('[SEC-1] what is never passed on cannot be allowed, and what needs no leave gets none', () => {
    for (const key of ['action', 'password_script', 'verbose', 'missing_as_off', 'ip', 'no_such']) {
      assert.notEqual(whyNotAllowable({ agent: 'fence_virsh', key, value: '1' }), undefined, key);
    }
  });
});
