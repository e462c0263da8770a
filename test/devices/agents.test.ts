/** What the list of agents says of them, against the agents of this machine. */
import assert from 'node:assert/strict';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import { checkAgentParameters } from '../../src/devices/agent-check.ts';
import { ALLOWED_AGENTS, whyNotAllowed } from '../../src/api/agents.ts';
import { provesNothingDone, saysOffByDefault } from '../../src/devices/agent-list.ts';
import type { AgentMetadata } from '../../src/devices/agent-metadata.ts';
import { AgentCatalogue, defaultAgentSettings, readMetadata } from '../../src/devices/agent.ts';

const { directory } = defaultAgentSettings;
const source = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');

async function installed(): Promise<string[]> {
  const names = await readdir(directory);
  return names.filter((name) => name.startsWith('fence_'));
}

async function metadataOf(name: string): Promise<AgentMetadata> {
  const metadata = await readMetadata(name, defaultAgentSettings, realClock);
  if (typeof metadata === 'string') assert.fail(metadata);
  return metadata;
}

describe('the fence agents of this machine', () => {
  test('[FEN-8] each is run, or not for a reason that is told', async () => {
    const names = await installed();
    assert.ok(names.length > 60, `${names.length}`);
    const unexplained = names.filter((name) => whyNotAllowed(name)?.startsWith('it is not among') === true);
    assert.deepEqual(unexplained, []);
    assert.deepEqual(
      ALLOWED_AGENTS.filter((name) => !names.includes(name)),
      [],
    );
  });

  test('[FEN-8] each that is run tells what it knows, and can do what is asked of it', async () => {
    for (const name of ALLOWED_AGENTS) {
      const metadata = await metadataOf(name);
      const { actions, parameters } = metadata;
      const needed = ['status', 'off', 'on', ...(saysOffByDefault(name) ? ['list'] : [])];
      assert.deepEqual(
        needed.filter((action) => !actions.has(action)),
        [],
        name,
      );
      const problems = checkAgentParameters(metadata, { plain: { action: 'off' }, secret: {} }, []);
      assert.ok(problems.some(({ key }) => key === 'action') && parameters.has('power_timeout'), name);
    }
  });

  test('[FEN-10] a failure is held for a refusal only where the source of the agent bears it out', async () => {
    for (const name of ALLOWED_AGENTS) {
      const code = await source(name);
      assert.ok(code.includes('fence_action('), `${name} uses the library, which asks for the status first`);
      if (provesNothingDone(name, 'Unable to connect/login to fencing device')) {
        assert.equal(code.split('fence_login(').length, 2, `${name} logs in once`);
      }
      if (provesNothingDone(name, 'Failed: Unable to obtain correct plug status or plug is not available')) {
        assert.ok(!code.includes('fail(EC_STATUS)'), `${name} leaves the message to the library`);
      }
    }
  });

  test('[FEN-7] a key that the real agent does not know is found before it is used', async () => {
    const found = await new AgentCatalogue(defaultAgentSettings, realClock).driver('fence_ipmilan');
    assert.ok(found.kind === 'driver');
    const plain = { ip: '10.0.0.7', username: 'admin', lanpluss: '1' };
    assert.deepEqual(found.driver.check({ plain, secret: { password: 'x' } }), [
      { key: 'lanpluss', problem: 'fence_ipmilan does not know it: did you mean lanplus?' },
    ]);
  });

  test('the programs that agents start are there', async () => {
    for (const program of ['ipmitool', 'snmpget', 'ssh']) await access(join('/usr/bin', program));
  });
});
