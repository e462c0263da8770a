import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Command } from 'commander';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { agentEnvironment } from '../devices/agent.ts';
import type { AgentFlags } from './agent-flags.ts';
import { addAgentFlags, agentSettings } from './agent-flags.ts';

function settingsOf(...args: string[]): ReturnType<typeof agentSettings> {
  const command = addAgentFlags(new Command('run').exitOverride().configureOutput({ writeErr: () => {} }));
  return agentSettings(command.parse(args, { from: 'user' }).opts<AgentFlags>());
}

describe('the flags about fence agents', () => {
  test('[SEC-1] nothing is allowed by itself; each flag allows one more', () => {
    assert.deepEqual(settingsOf().allowed, []);
    const flag = '--allow-agent-parameters';
    const options = '-o StrictHostKeyChecking=yes -o UserKnownHostsFile=/a';
    assert.deepEqual(settingsOf(flag, 'fence_lpar:managed', flag, `fence_brocade:ssh_options=${options}`).allowed, [
      { agent: 'fence_lpar', key: 'managed' },
      { agent: 'fence_brocade', key: 'ssh_options', value: options },
    ]);
  });

  const refused: [string, RegExp][] = [
    ['managed', /write AGENT:PARAMETER/],
    ['/bin/sh:managed', /no path/],
    ['fence_sbd:devices=/dev/sda', /fence_sbd/],
    ['fence_virsh:identity_file', /name the value/],
    ['fence_virsh:action=on', /chosen by the fence method/],
    ['fence_virsh:plug=1', /needs no leave/],
    ['fence_virsh:ssh_options=-4\nverbose=1', /line break/],
  ];
  for (const [text, why] of refused) {
    test(`[SEC-1] ${JSON.stringify(text)} is refused at the start`, () =>
      assert.throws(() => settingsOf('--allow-agent-parameters', text), why));
  }

  test('[FEN-8] the trust file is what agents are told to trust, and one that is none is found at the start', () => {
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-trust-'));
    try {
      const [good, bad] = [join(dir, 'ca.pem'), join(dir, 'bad.pem')];
      writeFileSync(good, createCertificateAuthority().certPem);
      writeFileSync(bad, 'no certificate');
      const { REQUESTS_CA_BUNDLE, SSL_CERT_FILE } = agentEnvironment(settingsOf('--agent-trust-file', good));
      assert.deepEqual([REQUESTS_CA_BUNDLE, SSL_CERT_FILE], [good, good]);
      assert.throws(() => settingsOf('--agent-trust-file', bad));
      assert.throws(() => settingsOf('--agent-trust-file', join(dir, 'none.pem')), /ENOENT/);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
