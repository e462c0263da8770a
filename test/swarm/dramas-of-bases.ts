/** What a release rests on, held open long enough for something to happen to it. */
import type { Happening } from './document.ts';
import { seconds } from './document.ts';
import type { Drama, Setting } from './drama.ts';
import { hasty, meanwhile, stuck } from './drama.ts';
import { database } from './stakes.ts';
import { drivers } from './workloads.ts';

const [longhorn, safe] = drivers;

/** Somebody says that nothing runs there any more, which is so; later he may take it back. */
export function asserted(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const force = chance.maybe(0.4);
  const key = force ? 'fenceline.dev/force-eviction' : 'node.kubernetes.io/out-of-service';
  const at = chance.between(25, 70);
  const driver = chance.one([longhorn, longhorn, safe]);
  const objects = database(nodes.length, driver);
  const untainted: Happening = { at: seconds(chance.between(at + 5, 220)), untaint: { node: first, key } };
  return {
    node: chance.maybe(0.7) ? { bmc: false } : {},
    gates: { ForceEviction: force },
    policy: hasty(chance, {
      ...(chance.maybe(0.5) ? { thresholds: [], remedies: [] } : {}),
      release: { assertions: ['OutOfService'] },
    }),
    objects,
    events: [
      { at: seconds(1), powerOff: first },
      { at: seconds(at), taint: { node: first, key, effect: 'NoExecute' } },
      ...stuck(chance, driver, 0, at + chance.one([20, 60, 100])),
      ...meanwhile(setting, objects, at + 1, at + 40),
      { at: seconds(chance.one([120, 180, 230])), powerOn: first },
      ...(chance.maybe(0.7) ? [untainted] : []),
    ],
  };
}

/** A policy that lets pods go without any proof: of a node that is off, cut off, or whose fence has failed. */
export function acceptedRisk(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const failed = chance.maybe(0.4);
  const objects = database(nodes.length, longhorn);
  const [begin, end] = chance.one([
    ['powerOff', 'powerOn'],
    ['powerOff', 'powerOn'],
    ['hang', 'resume'],
  ]);
  return {
    node: failed ? {} : { bmc: false },
    kubernetes: { nodeMonitorGracePeriod: '20s' },
    policy: hasty(chance, {
      ...(failed ? {} : { thresholds: [], remedies: [] }),
      release: {
        podDeletion: chance.one(['do-nothing', 'delete-statefulset-pod', 'delete-statefulset-pod']),
        volumeAttachmentRecovery: chance.one(['never', 'wait', 'immediate']),
        provisioners: [longhorn],
        riskAfterFailedFence: failed,
      },
    }),
    objects,
    events: [
      ...(failed ? [{ at: seconds(0), device: { node: first, fault: 'refuses' } }] : []),
      { at: seconds(1), [begin]: first },
      ...stuck(chance, longhorn, 0, chance.one([70, 120])),
      ...meanwhile(setting, objects, 26, 90),
      { at: seconds(chance.one([80, 150, 220])), [end]: first },
      { at: seconds(240), device: { node: first, fault: 'none' } },
    ].filter((event) => failed || !('device' in event)),
  };
}

/** A kernel that really crashes, says so, and boots a minute later. */
export function crashed(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const at = chance.between(2, 30);
  const driver = chance.one([longhorn, longhorn, safe]);
  const objects = database(nodes.length, driver);
  return {
    policy: hasty(chance, {
      fence: {
        isolateAfter: '0s',
        powerManagementAfter: chance.one(['0s', '60s', '5m']),
        retries: 0,
        restarts: 0,
        kdump: { enabled: true, timeout: chance.one(['20s', '90s']) },
      },
    }),
    objects,
    events: [
      { at: seconds(at), kdump: first },
      ...stuck(chance, driver, 0, at + chance.one([40, 80, 120])),
      ...meanwhile(setting, objects, at + 10, at + 75),
    ],
  };
}

/** A driver whose detach is a proof, and takes its time. */
export function safelyDetached(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const objects = database(nodes.length, safe);
  const [begin, end] = chance.one([
    ['partition', 'heal'],
    ['partition', 'heal'],
    ['powerOff', 'powerOn'],
    ['hang', 'resume'],
  ]);
  return {
    gates: { NonGracefulFailover: true },
    node: chance.maybe(0.5) ? { bmc: false } : {},
    kubernetes: { nodeMonitorGracePeriod: '20s' },
    policy: hasty(chance, {
      ...(chance.maybe(0.7) ? { thresholds: [], remedies: [] } : {}),
      release: { safeDetach: [safe] },
    }),
    objects,
    events: [
      { at: seconds(1), [begin]: first },
      ...stuck(chance, safe, 0, chance.one([50, 90, 140])),
      ...meanwhile(setting, objects, 22, 100),
      { at: seconds(chance.one([60, 120, 200])), [end]: first },
    ],
  };
}

/** Released while it was cut off, and back with processes that take their time to end. */
export function slowToEnd(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const back = chance.one([40, 60, 90]);
  const objects = database(nodes.length, longhorn, { stopsAfterSeconds: chance.one([20, 45, 90]) });
  return {
    policy: hasty(chance, {
      fence: { isolateAfter: '0s', powerManagementAfter: chance.one(['5m', '1h']), retries: 1, restarts: 0 },
    }),
    shape: chance.one([
      { isolation: 'fc-off', recovery: 'fc-on' },
      { isolation: 'fc-off', power: 'pdu-off pdu-on', recovery: 'fc-on' },
    ]),
    objects,
    events: [
      { at: seconds(1), [chance.one(['partition', 'partition', 'hang'])]: first },
      { at: seconds(back), heal: first },
      { at: seconds(back), resume: first },
      ...meanwhile(setting, objects, back, back + 40),
    ],
  };
}
