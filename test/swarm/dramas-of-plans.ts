/** What others have in mind with a node, and with the policies that are about it. */
import type { Happening, Manifest } from './document.ts';
import { seconds } from './document.ts';
import type { Drama, Setting } from './drama.ts';
import { away, hasty, meanwhile } from './drama.ts';
import { clock, fenceObject } from './people.ts';
import { policyObject } from './policies.ts';
import { database } from './stakes.ts';
import { drivers } from './workloads.ts';

const [longhorn] = drivers;

/** A reboot that somebody wants, with the operator or the API server away at the wrong moment. */
export function planned(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const at = chance.between(5, 20);
  const begun = at + chance.one([20, 40, 60]);
  const down = chance.between(10, 50);
  const events = chance.one<Happening[]>([
    [{ at: seconds(begun), gracefulReboot: first }],
    [
      { at: seconds(begun), gracefulShutdown: first },
      { at: seconds(begun + chance.one([40, 90])), powerOn: first },
    ],
    [
      { at: seconds(at), drain: first },
      { at: seconds(begun), reboot: first },
      { at: seconds(begun + 120), uncordon: first },
    ],
    [
      { at: seconds(at), cordon: first },
      { at: seconds(begun), kubeletStop: first },
      { at: seconds(begun + down), kubeletStart: first },
      { at: seconds(begun + down + 20), uncordon: first },
    ],
  ]);
  const from = Math.max(0, begun + chance.between(-5, 60));
  const disturbed = chance.one<Happening[]>([
    [{ at: seconds(from), crashOperator: 1 }],
    [
      { at: seconds(from), isolateOperator: 1 },
      { at: seconds(from + chance.one([20, 60])), restoreOperator: 1 },
    ],
    [
      { at: seconds(from), apiDown: true },
      { at: seconds(from + chance.one([5, 20, 45])), apiUp: true },
    ],
    [],
  ]);
  const objects = database(nodes.length, longhorn, chance.maybe(0.4) ? { stopsAfterSeconds: 20 } : {});
  return {
    operators: 2,
    kubernetes: { bootTime: chance.one(['10s', '30s', '90s']) },
    policy: hasty(chance, chance.maybe(0.5) ? { return: { soak: '0s' } } : {}),
    objects,
    events: [...events, ...disturbed, ...(chance.maybe(0.3) ? meanwhile(setting, objects, begun, begun + 60) : [])],
  };
}

/** The API server is away while a fence, a release or a return is under way; what falls meanwhile is seen later. */
export function apiAway(setting: Setting): Drama {
  const { chance, nodes, first, others } = setting;
  const from = chance.between(5, 60);
  const until = from + chance.one([2, 10, 25, 60, 100]);
  const objects = database(nodes.length, longhorn);
  const second = chance.one(others);
  return {
    policy: hasty(chance),
    objects,
    events: [
      ...away(chance, first, chance.between(1, from), chance.between(until, 240)),
      { at: seconds(from), apiDown: true },
      ...(chance.maybe(0.4) ? [{ at: seconds(chance.between(from, until)), crashOperator: 1 }] : []),
      ...(chance.maybe(0.4)
        ? [
            { at: seconds(chance.between(from, until)), powerOff: second },
            { at: seconds(220), powerOn: second },
          ]
        : []),
      { at: seconds(until), apiUp: true },
      ...(chance.maybe(0.4) ? meanwhile(setting, objects, until, until + 40) : []),
    ],
  };
}

/** A policy that waits for a person, who is early, late, or asked a second time. */
export function approved(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const objects = database(nodes.length, longhorn);
  const at = chance.between(10, 90);
  return {
    policy: hasty(chance, { mode: 'Approve' }),
    objects,
    events: [
      ...away(chance, first, 1, chance.one([50, 100, 180])),
      { at: seconds(at), approve: first },
      ...(chance.maybe(0.4) ? away(chance, first, 190, 250) : []),
      ...(chance.maybe(0.4) ? meanwhile(setting, objects, at, at + 30) : []),
    ],
  };
}

/** Stopped, paused or under maintenance while a fence is under way, and let go on when it may be too late. */
export function leftAlone(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const at = chance.between(5 * 2, 45 * 2) / 2;
  const lasts = chance.one([20, 45, 90]);
  const annotated = (annotation: string): Happening[] => {
    const metadata = { name: first, annotations: { [annotation]: clock(at + lasts) } };
    return [{ at: seconds(at), apply: { apiVersion: 'v1', kind: 'Node', metadata } }];
  };
  const ahead = { by: 'somebody', at: clock(at + chance.one([30, 70, 120])) };
  const objects = database(nodes.length, longhorn);
  return {
    policy: hasty(chance),
    objects,
    events: [
      ...away(chance, first, 1, chance.one([40, 90, 150])),
      ...chance.one<Happening[]>([
        annotated('fenceline.dev/pause.work'),
        annotated('fenceline.dev/maintenance-until'),
        [
          { at: seconds(at), apply: fenceObject(first, { stop: true }) },
          { at: seconds(at + lasts), apply: fenceObject(first, { stop: false }) },
        ],
        [{ at: seconds(at), apply: fenceObject(first, { requested: ahead }) }],
      ]),
      ...(chance.maybe(0.5) ? meanwhile(setting, objects, at, at + lasts) : []),
    ],
  };
}

/** What was only rehearsed is to be done now, in the middle of an incident; perhaps not for long. */
export function rehearsed(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const policy = hasty(chance, { mode: 'DryRun' });
  const manifest = (mode: string): Manifest => policyObject({ allNodes: true, ...policy, mode });
  const at = chance.between(10 * 2, 60 * 2) / 2;
  const objects = database(nodes.length, longhorn);
  return {
    policy,
    ...(chance.maybe(0.4) ? { shape: { isolation: 'fc-off', power: 'pdu-off pdu-on', recovery: 'fc-on' } } : {}),
    objects,
    events: [
      ...away(chance, first, 1, chance.one([40, 100, 180])),
      { at: seconds(at), apply: manifest('Enforce') },
      ...(chance.maybe(0.4) ? [{ at: seconds(at + chance.between(1, 40)), apply: manifest('DryRun') }] : []),
      ...(chance.maybe(0.5) ? meanwhile(setting, objects, at, at + 40) : []),
    ],
  };
}

/** Several policies about the same node, of which another one comes into force, or none, while it is being fenced. */
export function severalPolicies(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const hostname = { selector: { matchLabels: { 'kubernetes.io/hostname': first } } };
  const whom = chance.maybe(0.5) ? hostname : { allNodes: true };
  const other = (change: object): Manifest => {
    const mode = chance.one(['Enforce', 'Enforce', 'DryRun', 'Paused', 'Approve']);
    return policyObject({ ...hasty(chance, { mode }), ...whom, ...change }, 1);
  };
  const at = chance.between(10 * 2, 50 * 2) / 2;
  const objects = [...database(nodes.length, longhorn), other({ priority: chance.between(-1, 1) })];
  return {
    policy: hasty(chance),
    objects,
    events: [
      ...away(chance, first, 1, chance.one([40, 90, 180])),
      chance.maybe(0.3)
        ? { at: seconds(at), delete: { kind: 'RemedyPolicy', name: chance.one(['policy-0', 'policy-1']) } }
        : { at: seconds(at), apply: other({ priority: chance.between(-1, 1) }) },
      ...(chance.maybe(0.5) ? meanwhile(setting, objects, at, at + 40) : []),
    ],
  };
}
