import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { realClock } from '../../clock.ts';
import type { DeviceParameters, DeviceWorld } from '../device.ts';
import { cloudDrivers } from './index.ts';
import { Login, Turn } from './turn.ts';

const never = new AbortController().signal;
const id = '00000000-0000-0000-0000-000000000000';
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

/** What each needs, and nothing else. */
const least: Record<string, DeviceParameters> = {
  aws: { plain: { region: 'eu-central-1' }, secret: { access_key_id: 'AKIA', secret_access_key: 'canary' } },
  azure: { plain: { tenant_id: id, client_id: id }, secret: { client_secret: 'canary' } },
  gce: {
    plain: { project: 'example' },
    secret: { credentials: JSON.stringify({ client_email: 'a@b', private_key: privateKey }) },
  },
  openstack: {
    plain: { endpoint: 'https://keystone.example/v3', username: 'fencing', project_name: 'nodes' },
    secret: { password: 'canary' },
  },
  vsphere: { plain: { endpoint: 'https://vcenter.example', username: 'fencing' }, secret: { password: 'canary' } },
};

const machine = `/subscriptions/${id}/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/x`;

for (const [name, driver] of cloudDrivers) {
  const instance = name === 'azure' ? machine : 'x';
  const parameters = least[name] ?? { plain: {}, secret: {} };
  const problemsOf = ({ plain = {}, secret = {} }: Partial<DeviceParameters>): string[] =>
    driver
      .check({ plain: { ...parameters.plain, ...plain }, secret: { ...parameters.secret, ...secret } })
      .map(({ key, problem }) => `${key}: ${problem}`);

  describe(`parameters of ${name}`, () => {
    test('[FEN-7] what it needs is enough, and each of it is needed', () => {
      assert.equal(driver.name, name);
      assert.deepEqual(problemsOf({}), []);
      for (const from of ['plain', 'secret'] as const) {
        for (const key of Object.keys(parameters[from])) {
          const { [key]: _left, ...rest } = parameters[from];
          assert.notDeepEqual(driver.check({ ...parameters, [from]: rest }), [], key);
        }
      }
    });

    test('[FEN-7] an unknown key is found, with the nearest that exists', () => {
      assert.deepEqual(problemsOf({ plain: { instanze: 'x' } }), [
        `instanze: ${name} does not know it: did you mean instance?`,
      ]);
    });

    test('[FEN-7, FEN-8] a credential outside of a Secret is found, and no problem repeats a value', () => {
      for (const [key, value] of Object.entries(parameters.secret)) {
        const problems = driver.check({ plain: { ...parameters.plain, [key]: value }, secret: {} });
        assert.ok(
          problems.some((one) => one.key === key && one.problem.includes('Secret')),
          JSON.stringify(problems),
        );
        for (const wrong of [`canary\n`, ' canary', 'ca\u0000nary', '']) {
          assert.ok(
            !problemsOf({ secret: { [key]: wrong } })
              .join()
              .includes('canary'),
          );
        }
        assert.notDeepEqual(problemsOf({ secret: { [key]: '' } }), []);
      }
    });

    test('[FEN-7] credentials go nowhere without encryption, and never with those of the address', () => {
      for (const endpoint of [
        'http://cloud.example',
        'cloud.example',
        'https://me:canary@cloud.example',
        'https://x/?y=z',
      ]) {
        const problems = problemsOf({ plain: { endpoint } });
        assert.ok(problems.length === 1 && problems[0]?.startsWith('endpoint: '), problems.join());
        assert.ok(!problems.join().includes('canary'));
      }
      assert.match(problemsOf({ plain: { ca: 'x' } }).join(), /^ca: write certificates in PEM/);
    });

    test('[FEN-9] which instance it is may be said by whoever asks; not said at all, it refuses', async () => {
      const device = driver.device(parameters, realClock);
      const answer = await device.ask('off', never);
      assert.ok(answer.kind === 'refused' && /instance/.test(answer.message), JSON.stringify(answer));
    });

    test('[FEN-7] with parameters that do not pass, it refuses', async () => {
      const device = driver.device(
        { ...parameters, plain: { ...parameters.plain, instance, colour: 'red' } },
        realClock,
      );
      const answer = await device.ask('off', never);
      assert.ok(answer.kind === 'refused' && /colour/.test(answer.message), JSON.stringify(answer));
    });

    test('[FEN-10] called off before it began, it is unknown', async () => {
      const device = driver.device({ ...parameters, plain: { ...parameters.plain, instance } }, realClock);
      assert.equal((await device.ask('status', AbortSignal.abort())).kind, 'unknown');
    });
  });
}

test('[FEN-9] a token is kept as long as it is valid, and not longer', async () => {
  let nowMs = 0;
  let count = 0;
  const world: DeviceWorld = { now: () => 0, monotonic: () => nowMs, after: () => () => {} };
  const turn = new Turn({ world, signal: never, deadline: Infinity, callTimeoutMs: 1, hide: () => {} });
  const login = new Login(world, async () => ({ value: (count += 1), lifetimeMs: 3_600_000 }));
  const seen: number[] = [];
  for (nowMs of [0, 3_500_000, 3_580_000, 3_590_000]) seen.push(await login.token(turn));
  assert.deepEqual(seen, [1, 1, 2, 2]);
});
