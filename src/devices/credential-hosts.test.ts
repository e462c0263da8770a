import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { whyNotSent } from './credential-hosts.ts';

const may = (written: string, told: Record<string, string>): boolean => whyNotSent(written, told) === undefined;

describe('[SEC-1] what is in a Secret', () => {
  test('goes to the addresses, networks and names that it is for', () => {
    for (const [written, ip] of [
      ['192.0.2.7', '192.0.2.7'],
      ['192.0.2.7', '192.0.2.7:623'],
      ['192.0.2.7, ', '192.0.2.7'],
      ['192.0.2.0/24, bmc-1.example.com', '192.0.2.200'],
      ['192.0.2.0/24 bmc-1.example.com', 'BMC-1.example.com.'],
      ['*.bmc.example.com', 'worker-1.bmc.example.com'],
      ['2001:db8::/64', '2001:db8::17'],
      ['2001:db8::/64', '[2001:db8::17]:443'],
      ['fe80::/10', 'fe80::1%eth0'],
    ] as const) {
      assert.ok(may(written, { ip }), `${written}: ${ip}`);
    }
  });

  test('goes to no other one', () => {
    for (const [written, ip] of [
      ['192.0.2.7', '192.0.2.8'],
      ['192.0.2.0/24', '198.51.100.7'],
      // The same address to some, and nothing that is understood here.
      ['192.0.2.0/24', '3221225991'],
      ['192.0.2.0/24', '192.0.519'],
      ['192.0.2.0/24', '192.0.2.7.example.com'],
      ['192.0.2.0/24', 'bmc-1'],
      ['bmc-1.example.com', '192.0.2.7'],
      ['bmc-1.example.com', 'bmc-1.example.com.evil.example'],
      ['*.example.com', 'example.com'],
      ['*.example.com', 'evilexample.com'],
      ['2001:db8::/64', '2001:db8:0:1::17'],
      ['0.0.0.0/0', '::1'],
      ['192.0.2.0/24', '::ffff:192.0.2.7'],
      ['*.2.7', '192.0.2.7'],
    ] as const) {
      assert.ok(!may(written, { ip }), `${written}: ${ip}`);
    }
  });

  test('is asked of every parameter that says where it goes, whatever it is called', () => {
    for (const told of [
      { ipaddr: '198.51.100.7' },
      { ip: '192.0.2.7', 'auth-url': 'https://198.51.100.7/v3' },
      { session_url: 'https://192.0.2.7@198.51.100.7/' },
      { endpoint: 'https://198.51.100.7' },
      { login_endpoint: 'https://198.51.100.7' },
      { token_uri: 'https://198.51.100.7/token' },
      { endpoint: 'no address' },
      { ip: '192.0.2.7', plug: '198.51.100.7', port_as_ip: '1' },
      { ip: '192.0.2.7', port: '198.51.100.7', port_as_ip: 'yes' },
    ]) {
      assert.ok(!may('192.0.2.0/24', told), JSON.stringify(told));
    }
    assert.ok(may('192.0.2.0/24', { endpoint: 'https://192.0.2.7:8443/x', plug: '198.51.100.7', region: 'eu-1' }));
    assert.ok(whyNotSent('192.0.2.7', { plug: '198.51.100.7' }, { port_as_ip: '1' }) !== undefined);
    assert.ok(
      whyNotSent('192.0.2.7', { plug: '3' }, { ip: '198.51.100.7' }) === undefined,
      'what stands in it is its own',
    );
    assert.ok(may('192.0.2.0/24', { ip: '192.0.2.7', plug: '198.51.100.7', port_as_ip: '0' }));
    assert.ok(may('192.0.2.0/24', { ip: '192.0.2.7', plug: '192.0.2.8', port_as_ip: '1', username: 'admin' }));
    assert.ok(may('192.0.2.0/24', {}), 'to the public address of its cloud');
  });

  test('goes nowhere where nobody can read whom it is for', () => {
    for (const written of [
      '',
      ' , ',
      '192.0.2.0/33',
      '192.0.2.0/x',
      '192.0.2',
      '192.0.2.0/',
      '*',
      'https://192.0.2.7',
      'a..b',
    ]) {
      assert.match(whyNotSent(written, {})?.problem ?? '', /write addresses, networks/, written);
    }
  });
});
