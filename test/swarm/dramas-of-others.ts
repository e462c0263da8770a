/** What comes from aside: pauses, marks of others, requests that nobody hears, Leases and records that are deleted, devices that are watched. */
import type { Happening } from './document.ts';
import { seconds } from './document.ts';
import type { Drama, Setting } from './drama.ts';
import { away, hasty, meanwhile, stuck } from './drama.ts';
import { byKured, marked, pausedForAll } from './others.ts';
import { clock, fenceObject } from './people.ts';
import { policyObject } from './policies.ts';
import { database } from './stakes.ts';
import { drivers } from './workloads.ts';

const [longhorn] = drivers;

/** Paused or stopped while a device has been told and has not done it, and then another node needs its turn. */
export function pausedInFence(setting: Setting): Drama {
  const { chance, nodes, first, others } = setting;
  const at = chance.between(13 * 2, 45 * 2) / 2;
  const until = at + chance.one([10, 40, 120]);
  const second = chance.one(others);
  const policy = hasty(chance, { storm: { maxUnresponsive: '100%', maxConcurrent: 1, cooldown: '5s' } });
  const { storm: _all, ...own } = policy;
  const ofFirst = (mode: string): object => {
    const selector = { matchLabels: { 'kubernetes.io/hostname': first } };
    return policyObject({ ...own, selector, priority: 1, mode }, 1);
  };
  const objects = [...database(nodes.length, longhorn), ofFirst('Enforce')] as Drama['objects'];
  return {
    policy,
    objects,
    events: [
      { at: seconds(0), device: { node: first, fault: chance.one(['late', 'late', 'hangs', 'none']) } },
      ...away(chance, first, 1, chance.one([60, 120, 200])),
      ...chance.one<Happening[]>([
        pausedForAll(chance, at, until, clock),
        [
          { at: seconds(at), apply: ofFirst('Paused') },
          { at: seconds(until), apply: ofFirst('Enforce') },
        ],
        [
          { at: seconds(at), apply: fenceObject(first, { stop: true }) },
          { at: seconds(until), apply: fenceObject(first, { stop: false }) },
        ],
      ]),
      ...away(chance, second, chance.between(1, 60), 220),
      { at: seconds(240), device: { node: first, fault: 'none' } },
    ],
  };
}

/** Somebody else removes, remedies or reboots the node, or has only said so. */
export function othersAtIt(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const at = chance.between(0, 50);
  const until = at + chance.one([15, 60, 150]);
  const objects = database(nodes.length, longhorn);
  const begun = at + chance.one([5, 30]);
  return {
    policy: hasty(chance),
    objects,
    events: [
      ...chance.one<Happening[]>([
        byKured({ node: first, at, begun, back: begun + chance.one([40, 120]) }),
        [...marked(chance, first, at, until), ...away(chance, first, chance.between(1, 60), until + 20)],
        [...marked(chance, first, at), ...away(chance, first, chance.between(1, 60), 200)],
        [
          ...marked(chance, first, at, until),
          { at: seconds(begun), powerOff: first },
          { at: seconds(begun + chance.one([20, 90])), powerOn: first },
        ],
      ]),
      ...(chance.maybe(0.5) ? meanwhile(setting, objects, at, until) : []),
    ],
  };
}

/** Asked for while no operator can hear it; when they are back, what it was about may be over, or the node another one. */
export function unheardRequest({ chance, nodes, first }: Setting): Drama {
  const asked = chance.between(10, 60);
  const passed = asked + chance.one([-5, 10, 40]);
  const back = chance.one([asked + 5, passed + 20, passed + 90]);
  const without = chance.maybe(0.3) ? { withoutPolicy: true } : {};
  return {
    operators: 1,
    policy: hasty(chance),
    objects: database(nodes.length, longhorn),
    events: [
      ...chance.one<Happening[]>([
        away(chance, first, 1, passed),
        [
          { at: seconds(1), partition: first },
          { at: seconds(passed), reboot: first },
          { at: seconds(passed + 1), heal: first },
        ],
        [
          { at: seconds(1), deleteNode: first },
          { at: seconds(1), kubeletStop: first },
          { at: seconds(passed), reboot: first },
        ],
        [],
      ]),
      { at: seconds(chance.one([0, asked - 1])), isolateOperator: 1 },
      {
        at: seconds(asked),
        apply: fenceObject(first, { requested: { by: 'somebody', at: clock(asked), ...without } }),
      },
      { at: seconds(back), restoreOperator: 1 },
    ],
  };
}

/** Its record is deleted while the node comes back, however it was cut. */
export function forgotten(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const back = chance.one([40, 70, 110]);
  const deleted = back + chance.between(-10, 60) / 2;
  return {
    policy: hasty(chance, { return: { soak: chance.one(['10s', '60s']) } }),
    shape: chance.one([
      { power: 'pdu-off pdu-on' },
      { isolation: 'fc-off', recovery: 'fc-on' },
      { isolation: 'fc-off', power: 'pdu-off pdu-on', recovery: 'fc-on' },
    ]),
    objects: database(nodes.length, longhorn),
    events: [
      ...away(chance, first, 1, back),
      ...(chance.maybe(0.3) ? stuck(chance, longhorn, 5, back + 20) : []),
      { at: seconds(deleted), delete: { kind: 'NodeFence', name: `node-fence-${first}` } },
      ...(chance.maybe(0.3) ? [{ at: seconds(deleted + chance.one([0, 2, 6])), crashOperator: 1 }] : []),
      ...(chance.maybe(0.3) ? away(chance, first, 180, 230) : []),
    ],
  };
}

/** Somebody cleans kube-node-lease: kubelets that live make theirs again. */
export function leasesDeleted({ chance, nodes, first }: Setting): Drama {
  const lost = chance.between(1, 30);
  const at = Math.max(0, lost + chance.between(-10, 60) / 2);
  const whose = chance.maybe(0.6) ? [first] : nodes.map(({ name }) => name);
  const ready = { condition: { type: 'Ready', status: 'NotTrue', for: '5s' } };
  const byCondition = { thresholds: [{ ...ready, remedies: [{ name: 'fence', period: '10s' }] }] };
  return {
    policy: hasty(chance, chance.maybe(0.3) ? byCondition : {}),
    objects: database(nodes.length, longhorn),
    events: [
      ...(chance.maybe(0.7)
        ? away(chance, first, lost, chance.one([60, 120, 200]))
        : [
            { at: seconds(lost), powerOff: first },
            { at: seconds(160), powerOn: first },
          ]),
      ...whose.map((name) => ({ at: seconds(at), delete: { kind: 'Lease', name, namespace: 'kube-node-lease' } })),
      ...(chance.maybe(0.3) ? [{ at: seconds(at + chance.one([1, 15])), crashOperator: 1 }] : []),
      // Or one that is there and that its kubelet has forgotten, which goes on reporting.
      ...(chance.maybe(0.4)
        ? [
            { at: seconds(at), leaseStop: chance.one(nodes).name },
            ...nodes.map(({ name }) => ({ at: seconds(200), leaseStart: name })),
          ]
        : []),
    ],
  };
}

/** Devices that are asked all the time, and what they say or do not say when nodes come and go. */
export function watched(setting: Setting): Drama {
  const { chance, nodes, first, operators } = setting;
  const at = chance.between(5, 60);
  const until = at + chance.one([5, 30, 90]);
  const policy = hasty(chance);
  const objects = database(nodes.length, longhorn);
  const fault = chance.one(['saysOff', 'saysOn', 'refuses', 'hangs', 'wrongMachine', 'none']);
  const faultAt = Math.max(0, at + chance.one([-5, 2, 10]));
  const ends = chance.one(['powerOff', 'powerOff', 'kubeletStop', 'partition', 'gracefulShutdown']);
  return {
    // What else happens may be about any that there were before.
    operators: Math.max(operators, chance.between(1, 2)),
    policy: { ...policy, fence: { ...(policy['fence'] as object), powerWatch: { every: chance.one(['1s', '5s']) } } },
    objects,
    events: [
      { at: seconds(at), [ends]: first },
      ...['powerOn', 'kubeletStart', 'heal'].map((end) => ({ at: seconds(Math.max(until, at + 40)), [end]: first })),
      { at: seconds(faultAt), device: { node: first, fault } },
      { at: seconds(faultAt + chance.one([5, 40, 120])), device: { node: first, fault: 'none' } },
      ...(chance.maybe(0.4) ? meanwhile(setting, objects, at, until) : []),
    ],
  };
}
