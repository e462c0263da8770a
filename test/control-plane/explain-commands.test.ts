/** What `fenceline explain` tells people to type at kubectl does what it says, with the stock kubectl. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Advice } from '../../src/api/advice.ts';
import { ALARM_ADVICE, COMMANDS, commandsOf, FENCED_ADVICE, HELD_ADVICE } from '../../src/api/advice.ts';
import { UNFENCEABLE_ADVICE, WRONG_ADVICE } from '../../src/api/advice-of-devices.ts';
import { RELEASED_ADVICE, STUCK_ADVICE } from '../../src/api/advice-of-pods.ts';
import { REQUESTED_ADVICE } from '../../src/api/advice-of-requests.ts';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { EmbeddedKubectl } from '../support/embedded-kubectl.ts';
import { shellWords } from '../support/typed.ts';

const names = {
  node: 'worker-1',
  policy: 'workers',
  namespace: 'fenceline',
  incident: 'worker-1-2026',
  pod: 'web-0',
  podNamespace: 'default',
  later: '2026-01-01T02:00:00Z',
  other: 'worker-2',
};
const advice = [
  ALARM_ADVICE,
  FENCED_ADVICE,
  HELD_ADVICE,
  REQUESTED_ADVICE,
  UNFENCEABLE_ADVICE,
  WRONG_ADVICE,
  RELEASED_ADVICE,
  STUCK_ADVICE,
].flatMap((one): Advice[] => Object.values(one));
const all = [...advice, { ends: '', can: Object.values(COMMANDS) as unknown as Advice['can'] }];
const typed = new Set(all.flatMap((one) => commandsOf(one, names)).map(({ command }) => command));

const own = 'fenceline.dev/v1alpha1';
const objects: object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } },
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'worker-1', annotations: { 'fenceline.dev/maintenance-until': '2026-01-01T00:00:00Z' } },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-0', namespace: 'default' },
    spec: { nodeName: 'worker-1', containers: [{ name: 'c', image: 'example/c:1' }] },
  },
];
const ownObjects: object[] = [
  { apiVersion: own, kind: 'RemedyPolicy', metadata: { name: 'workers' }, spec: { allNodes: true, mode: 'DryRun' } },
  {
    apiVersion: own,
    kind: 'NodeFence',
    metadata: { name: 'node-fence-worker-1' },
    spec: { node: 'worker-1', requested: { by: 'jane', at: '2026-01-01T00:00:00Z' } },
  },
  {
    apiVersion: own,
    kind: 'FenceDevice',
    metadata: { name: 'bmc', namespace: 'fenceline' },
    spec: { node: 'worker-1' },
  },
];

describe('what explain tells people to type at kubectl', () => {
  let embedded: EmbeddedKubectl;

  before(async () => {
    embedded = await EmbeddedKubectl.start();
    for (const item of [...customResourceDefinitions(), ...objects, ...ownObjects]) {
      await embedded.ok(['apply', '--server-side', '-f', '-'], JSON.stringify(item));
    }
  });
  after(() => embedded?.stop());

  for (const command of [...typed].filter((one) => one.startsWith('kubectl ')).sort()) {
    test(`[EXP-1] ${command}`, async () => {
      const [, ...args] = shellWords(command);
      const { code, stdout, stderr } = await embedded.run(args);
      assert.equal(code, 0, `${stdout}${stderr}`);
    });
  }
});
