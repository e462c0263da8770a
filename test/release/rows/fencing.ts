/** Nodes that are fenced by real agents, through the protocols of real devices. */
import assert from 'node:assert/strict';
import type { MachineEvent } from '../../../src/world/machines/machine.ts';
import { watchForCanary } from '../../devices/canary.ts';
import { ipmi } from '../../devices/endpoints/ipmi.ts';
import * as check from '../checks.ts';
import type { Row, RowSpec } from '../row.ts';
import { wireBmc, wireRack, type BmcFault, type Rack, type WiredBmc } from '../wiring.ts';
import { remediations } from '../others.ts';
import { machines, plain, systemUuidOf } from '../world.ts';
import { asConfigMaps, asFenceDevice, configMap, devicesOf, template } from './written.ts';

const app = 'db';

/** All rows fail at once, so that no limit is near; each policy has its own. */
const storm = { maxUnresponsive: '100%', maxConcurrent: 10 };
const times = { isolateAfter: '0s', powerManagementAfter: '2s', bootTimeout: '2m' };

interface Policy {
  retries: number;
  machineRemoved?: boolean;
  bootTimeout?: string;
  /** What follows where the fence does not help. */
  after?: object[];
}

async function prepare(row: Row, { after = [], ...tries }: Policy): Promise<void> {
  const troubled = { type: 'Ready', status: 'NotTrue', for: '5s' };
  await row.policy(
    { podDeletion: 'do-nothing' },
    {
      thresholds: [
        { condition: troubled, remedies: [{ name: 'fence', cleanResources: true, period: '0s' }, ...after] },
      ],
      remedies: [
        { name: 'fence', fence: {} },
        { name: 'remove', deleteMachine: {} },
      ],
      fence: { ...times, ...tries, restarts: 0 },
      storm,
    },
  );
  await row.workload('StatefulSet', app, { volumes: [{ driver: plain }] });
}

interface BmcRow {
  name: string;
  title: string;
  /** Whose GUID the BMC tells. */
  machine?: string;
  fault?: BmcFault;
  policy?: Partial<Policy>;
  /** How the device is told of: in ConfigMaps, unless said otherwise. */
  write?: (row: Row, bmc: WiredBmc) => Promise<void>;
  run: (row: Row, bmc: WiredBmc) => Promise<void>;
}

function bmcRow({
  name,
  title,
  machine = name,
  fault = 'none',
  policy = {},
  write = asConfigMaps,
  run,
}: BmcRow): RowSpec {
  let bmc: WiredBmc | undefined;
  return {
    name,
    title,
    prepare: async (row) => {
      const wired = await wireBmc(row.machine, { systemUuid: systemUuidOf(machine), fault });
      row.world.onStop(() => wired.close());
      bmc = wired;
      await write(row, wired);
      // A busy machine may be slow to answer; one that is to fail need not be asked again.
      const isToFail = fault !== 'none' || machine !== name;
      await prepare(row, { retries: isToFail ? 0 : 3, ...policy });
    },
    run: async (row) => {
      assert.ok(bmc);
      await run(row, bmc);
    },
  };
}

/** When the machine went off and on, and when its programs ended under it. */
function journalOf(row: Row): { type: MachineEvent['type']; atMs: number }[] {
  const journal: { type: MachineEvent['type']; atMs: number }[] = [];
  row.machine.on(({ type }) => {
    if (['off', 'booting', 'processStopped'].includes(type)) journal.push({ type, atMs: performance.now() });
  });
  return journal;
}

/** The pod runs elsewhere, and went only on the word of the device. */
async function releasedByPower(row: Row, sinceMs: number): Promise<number> {
  const gone = await row.gone(app);
  await row.replaced(app);
  const tookMs = performance.now() - sinceMs;
  console.log(`# ${row.name}: ${(tookMs / 1000).toFixed(1)} s until it runs elsewhere`);
  check.recordedFirst(row, app, 'PowerOff');
  check.inOrder(row, app, plain);
  check.oneWriter(row, app);
  return gone.atMs;
}

/** A port and an outlet cannot say whose they are: they count once they were seen on under the living node (SAF-1). */
async function provenDevices(row: Row): Promise<void> {
  await row.world.until(`the devices of ${row.name} to be seen on`, async () => {
    const own = await devicesOf(row);
    return own.length > 0 && own.every(({ status }) => status?.seenOn !== undefined);
  });
}

function fenceReason(row: Row): string | undefined {
  return row.fence()?.status.conditions.find(({ type }) => type === 'Fenced')?.reason;
}

/** Booted, clean, in service again, with nothing of ours left on it. */
async function isBack(row: Row): Promise<void> {
  await row.world.until(`${row.name} to be back in service`, () => {
    const { incident, applied = [] } = row.fence()?.status ?? {};
    const isOver = incident === undefined || incident.clearedAt !== undefined;
    return isOver && fenceReason(row) === 'Recovered' && applied.length === 0;
  });
  const { phase, step, status } = row.fence()?.status.fence ?? {};
  assert.deepEqual([phase, step, status], ['finished', 'recovery', 'final']);
  assert.equal(row.ready(), 'True');
  assert.deepEqual(row.taints(), []);
  assert.ok(row.node().spec?.unschedulable !== true);
}

async function staysWell(row: Row): Promise<void> {
  await row.world.observed();
  check.neverAttachedAgain(row, app);
  check.oneWriter(row, app);
  assert.equal(fenceReason(row), 'Recovered');
}

/** In error for good: nothing was let go, the machine goes on alone, and whoever asks is told why. */
async function nothingReleased(row: Row, why: RegExp): Promise<void> {
  await row.world.until(`the fence of ${row.name} to fail`, () => row.fence()?.status.fence?.phase === 'failed');
  await row.world.observed();
  const { fence, releases } = row.fence()?.status ?? {};
  assert.deepEqual([fence?.phase, fence?.status], ['failed', 'error']);
  assert.match(fence?.message ?? '', why);
  assert.equal(fenceReason(row), 'FenceFailed');
  assert.deepEqual(releases, []);
  const asked = await row.world.asked();
  check.untouched(row, app, asked);
  check.stillAttached(row, app);
  const stuck = row.stuck(app);
  assert.equal(stuck?.reason, 'NotPoweredOff', JSON.stringify(stuck));
  assert.ok(row.machine.processOf(row.oldUid(app)), 'it goes on running');
  assert.equal(row.world.storage.ledger.report(row.volume(app))?.mostWriters, 1);
}

function inTime(...steps: readonly [what: string, atMs: number | undefined][]): void {
  for (const [what, atMs] of steps) assert.ok(atMs !== undefined, `there was no ${what}`);
  const sorted = steps.toSorted(([, one = 0], [, other = 0]) => one - other);
  assert.deepEqual(
    sorted.map(([what]) => what),
    steps.map(([what]) => what),
  );
}

const document = 'fenced-as-documented';
/** The source's own example, but for the name of the node. */
const documentConfig = {
  'config.properties': `node_name=${document}
isolation=fc-off
power_management=eaton-off eaton-on
recovery=fc-on`,
  'fence-method-fc-on': 'template=fence-method-template-fc-switch-brocade\nplug=2\naction=on',
  'fence-method-fc-off': 'template=fence-method-template-fc-switch-brocade\nplug=2\naction=off',
  'fence-method-eaton-on': 'template=fence-method-template-eaton-pdu\nplug=1\naction=on',
  'fence-method-eaton-off': 'template=fence-method-template-eaton-pdu\nplug=1\naction=off',
};

/** That is said by each method. */
function withoutPlug(parameters: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== 'plug'));
}

export function documentRow(): RowSpec {
  let rack: Rack | undefined;
  return {
    name: document,
    title:
      "[FEN-3, FEN-6, FEN-10] the document's ConfigMaps: the switch, the outlet, the release, the outlet and the switch " +
      'again',
    prepare: async (row) => {
      const { storage } = row.world;
      const wired = await wireRack(row.machine, {
        port: '2',
        outlet: '1',
        onPort: (isOpen) => (isOpen ? storage.heal(row.name) : storage.partition(row.name)),
      });
      row.world.onStop(() => wired.close());
      rack = wired;
      const fc = wired.fcSwitch.parameters('a');
      const options = `fence_brocade:ssh_options=${fc.plain['ssh_options']}`;
      row.world.operatorFlags.push('--allow-agent-parameters', options);
      const eaton = wired.pdu.parameters('a');
      const fcTemplate = { agent: 'fence_brocade', plain: withoutPlug(fc.plain), secret: { ...fc.secret } };
      await template(row, 'fc-switch-brocade', fcTemplate);
      const eatonTemplate = { agent: 'fence_eaton_snmp', plain: withoutPlug(eaton.plain), secret: { ...eaton.secret } };
      await template(row, 'eaton-pdu', eatonTemplate);
      await configMap(row, `fence-config-${document}`, documentConfig);
      await prepare(row, { retries: 3 });
    },
    run: async (row) => {
      assert.ok(rack);
      const { commands, fcSwitch, pdu } = rack;
      await provenDevices(row);
      row.machine.partition();
      const goneMs = await releasedByPower(row, performance.now());
      row.machine.heal();
      await isBack(row);
      assert.deepEqual(
        commands.map(({ method }) => method),
        ['fc-off', 'eaton-off', 'eaton-on', 'fc-on'],
      );
      const at = (wanted: string): number | undefined => commands.find(({ method }) => method === wanted)?.atMs;
      inTime(['eaton-off', at('eaton-off')], ['release', goneMs], ['eaton-on', at('eaton-on')]);
      assert.deepEqual([await fcSwitch.power('a'), pdu.outlets.get('1')?.power], ['on', 'on']);
      const others = [...pdu.outlets].filter(([plug]) => plug !== '1');
      assert.deepEqual(
        others.map(([, { actions }]) => actions),
        [0, 0, 0],
        'nobody touched the other outlets',
      );
      await staysWell(row);
    },
  };
}

export const fencingRows: readonly RowSpec[] = [
  bmcRow({
    name: 'fenced-power-loss',
    title: '[FEN-8, FEN-10, FEN-11] a node loses its power: its BMC says so, its pod runs elsewhere, and it comes back',
    run: async (row, bmc) => {
      const journal = journalOf(row);
      const sinceMs = performance.now();
      row.machine.powerOff();
      const goneMs = await releasedByPower(row, sinceMs);
      await isBack(row);
      // It was off already. Where the BMC of a busy machine gave no answer in time, it was told so all the same.
      assert.deepEqual(bmc.told().slice(-1), ['on']);
      assert.ok(bmc.told().length <= 2, bmc.told().join(', '));
      inTime(['release', goneMs], ['switched on', journal.find(({ type }) => type === 'booting')?.atMs]);
      await staysWell(row);
    },
  }),
  bmcRow({
    name: 'fenced-by-device',
    title:
      '[FEN-15, FEN-8, FEN-10] a node with a FenceDevice that somebody has written is fenced by it, and it says so',
    write: asFenceDevice,
    run: async (row, bmc) => {
      // It is looked at in a round of its own, and only while its node is alive it can be seen on.
      const seenOn = async (): Promise<boolean> =>
        (await devicesOf(row)).some(({ status }) => status?.seenOn !== undefined);
      await row.world.until(`the device of ${row.name} to be seen on`, seenOn);
      row.machine.partition();
      await releasedByPower(row, performance.now());
      row.machine.heal();
      await isBack(row);
      assert.deepEqual(bmc.told(), ['off', 'on']);
      assert.deepEqual(
        (await devicesOf(row)).map(({ metadata, status }) => [metadata.name, status?.seenOn !== undefined]),
        [[`${row.name}-bmc`, true]],
        'what is known of it is where it is written',
      );
      await staysWell(row);
    },
  }),
  bmcRow({
    name: 'fenced-partition',
    title: '[FEN-8, FEN-10, FEN-11] a node is cut off and goes on writing: its power is cut first',
    run: async (row, bmc) => {
      const journal = journalOf(row);
      const at = (wanted: MachineEvent['type']): number | undefined =>
        journal.find(({ type }) => type === wanted)?.atMs;
      const watched = await watchForCanary(
        ipmi.canary,
        async () => {
          row.machine.partition();
          const goneMs = await releasedByPower(row, performance.now());
          // The network is mended before the machine has booted, or long after: it comes back all the same.
          row.machine.heal();
          await isBack(row);
          return goneMs;
        },
        { root: () => row.world.operatorPid, everyMs: 20 },
      );
      row.world.exposures.push(...watched.exposures);
      assert.deepEqual(bmc.told(), ['off', 'on']);
      inTime(['its programs end', at('processStopped')], ['release', watched.result], ['switched on', at('booting')]);
      await staysWell(row);
    },
  }),
  bmcRow({
    name: 'fenced-lying',
    title: '[FEN-10] a BMC says yes and does nothing: the fence is in error, and nothing goes',
    fault: 'ignores',
    run: async (row, bmc) => {
      row.machine.partition();
      await nothingReleased(row, /ipmi-off: .* says on/s);
      assert.ok(bmc.told().length > 0 && bmc.told().every((power) => power === 'off'));
    },
  }),
  bmcRow({
    name: 'fenced-other',
    title: '[FEN-10] a BMC of another machine is not used',
    machine: 'somebody-else',
    run: async (row, bmc) => {
      row.machine.partition();
      await nothingReleased(row, /answers for .*, and the node is /);
      assert.deepEqual(bmc.told(), []);
    },
  }),
  bmcRow({
    name: 'fenced-removed',
    title: '[FEN-11] the provider removes what is off: the Node object goes when nothing is left there, and not before',
    policy: { machineRemoved: true },
    run: async (row, bmc) => {
      row.machine.powerOff();
      const gone = await row.gone(app);
      await row.replaced(app);
      check.recordedFirst(row, app, 'PowerOff');
      const deleted = await row.world.until(`the Node object of ${row.name} to go`, () =>
        row.nodeMoments().find(({ type }) => type === 'deleted'),
      );
      inTime(['release', gone.atMs], ['the end of the Node object', deleted.atMs]);
      assert.ok(!bmc.told().includes('on'), 'it was off already, and stays off');
      await row.world.until('its fence to say so', () => fenceReason(row) === 'NodeDeleted');
    },
  }),
  bmcRow({
    name: 'fenced-deleted',
    title: '[REM-1] a fence does not bring it back: the provider is told to remove the machine',
    policy: { bootTimeout: '5s', after: [{ name: 'remove', period: '1h' }] },
    run: async (row) => {
      await clusterApiMachine(row);
      row.machine.partition();
      await releasedByPower(row, performance.now());
      await row.world.until(`Machine ${row.name} to be deleted`, async () => {
        const read = await row.world.client.get({ resource: machines, namespace: row.name, name: row.name });
        return !read.ok && read.error.kind === 'notFound';
      });
      assert.equal(row.fence()?.status.fence?.phase, 'failed');
    },
  }),
  bmcRow({
    name: 'fenced-others',
    title: '[ADM-6] another remediation operator is at work on it: it is left to that one until that is over',
    run: async (row, bmc) => {
      const { client } = row.world;
      const metadata = { name: row.name, namespace: row.name };
      await row.world.create(remediations, { metadata });
      row.machine.partition();
      const { hold } = await row.world.until(`${row.name} to be left to the other one`, () => {
        const status = row.fence()?.status;
        return status?.hold?.reason === 'LeftToOthers' ? status : undefined;
      });
      assert.match(hold?.message ?? '', new RegExp(`FenceAgentsRemediation ${row.name}/${row.name} since`));
      assert.deepEqual(bmc.told(), []);
      const since = performance.now();
      const made = await client.get({ resource: remediations, ...metadata });
      assert.ok(made.ok);
      const done = { ...made.value, status: { conditions: [{ type: 'Processing', status: 'False' }] } };
      assert.ok((await client.replace({ resource: remediations, ...metadata }, done)).ok);
      await releasedByPower(row, since);
    },
  }),
];

/** As Cluster API has it: the Machine of the node, and its name on the node. */
async function clusterApiMachine(row: Row): Promise<void> {
  const metadata = { name: row.name, namespace: row.name };
  const nodeRef = { kind: 'Node', name: row.name, uid: row.node().metadata.uid };
  // By which a host of Metal3 is looked for, too.
  const providerID = `metal3://${row.name}/${row.name}/${row.name}`;
  await row.world.create(machines, { metadata, spec: { providerID }, status: { nodeRef } });
  const { controlPlane } = row.world;
  const known = await controlPlane.kubectl(['patch', 'node', row.name, '-p', JSON.stringify({ spec: { providerID } })]);
  assert.equal(known.code, 0, known.stderr);
  const marks = [`cluster.x-k8s.io/machine=${row.name}`, `cluster.x-k8s.io/cluster-namespace=${row.name}`];
  const done = await controlPlane.kubectl(['annotate', 'node', row.name, ...marks]);
  assert.equal(done.code, 0, done.stderr);
}
