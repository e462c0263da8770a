/**
 * What ends a state that we report, and what a person can do about it now: for each reason, beside the words that say what
 * it is. Whoever reads one at night has to find the next step there, and not in a manual. A reason without does not compile.
 *
 * Names stand in double brackets, as in fence configurations, and are filled in where they are known.
 */
import type { ALARM, FENCED, HELD } from './reasons.ts';

/** Something to type. */
export interface Command {
  /** What it does, or who should. */
  to: string;
  command: string;
}

export interface Advice {
  /** Goes on after "ends when". */
  ends: string;
  can: readonly [Command, ...Command[]];
}

/** Every reason of a group has one. */
export type AdviceFor<Group extends { reason: object }> = { readonly [Name in keyof Group['reason']]: Advice };

/** What the names in brackets stand for, as far as it is known. */
export interface Names {
  node: string;
  policy?: string | undefined;
  /** That of the operator and its devices. */
  namespace?: string | undefined;
  incident?: string | undefined;
  /** The pod that the advice is about. */
  pod?: string | undefined;
  /** Takes every named pause of the node away. */
  unpause?: string | undefined;
  /** To when its protection can be put off that ends by itself. */
  later?: string | undefined;
  /** Another node that has to do with it. */
  other?: string | undefined;
  podNamespace?: string | undefined;
}

const bracket = /\{\{(\w+)\}\}/g;

/** Undefined: it needs a name that is not known. */
export function filled(text: string, names: Names): string | undefined {
  const known: Record<string, string | undefined> = { ...names };
  const isWhole = [...text.matchAll(bracket)].every(([, name = '']) => known[name] !== undefined);
  return isWhole ? text.replaceAll(bracket, (_, name: string) => known[name] ?? '') : undefined;
}

/** In a sentence a name may be missing: it is then spoken of in general. */
export function filledSentence(text: string, names: Names): string {
  const general: Names = { policy: '(none is known)', ...withoutUnknown(names) };
  return filled(text, general) ?? text;
}

function withoutUnknown(names: Names): Names {
  return Object.fromEntries(Object.entries(names).filter(([, name]) => name !== undefined)) as unknown as Names;
}

/** Those whose names are all known, in the order in which they are worth trying. */
export function commandsOf({ can }: Advice, names: Names): Command[] {
  return can.flatMap(({ to, command }) => {
    const text = filled(command, names);
    return text === undefined ? [] : [{ to: filledSentence(to, names), command: text }];
  });
}

const patchPolicy = (spec: string): string =>
  `kubectl patch remedypolicy {{policy}} --type=merge -p '{"spec":${spec}}'`;

/** What is worth typing in more than one situation. */
export const COMMANDS = {
  status: { to: 'see which nodes are in trouble, and what is done about each', command: 'fenceline status' },
  witness: { to: 'see the record that this is taken from', command: 'fenceline explain {{other}}' },
  evidence: { to: 'see what the verdict on it rests on', command: 'fenceline status {{node}} -o wide' },
  explain: { to: 'look again', command: 'fenceline explain {{node}}' },
  check: { to: 'ask its devices yourself; nothing is switched', command: 'fenceline check {{node}} -n {{namespace}}' },
  drill: {
    to: 'fence it once on a quiet day, while it is alive, to show that its outlets are its power',
    command: 'fenceline drill {{node}} -n {{namespace}}',
  },
  where: {
    to: 'see where its device is written down; put the address and plug of the right machine there',
    command: 'fenceline check {{node}} -n {{namespace}} -o wide',
  },
  clear: {
    to: 'when you have looked at the device and at the machine behind it, and it is right: say so; from then on it is believed again, and if it is wrong, another machine is cut',
    command: 'fenceline check --clear {{node}} -n {{namespace}}',
  },
  shown: {
    to: 'when you have closed the port while the node was at rest, and seen that node lose its storage: say so',
    command: 'fenceline check --shown {{node}} -n {{namespace}}',
  },
  devices: {
    to: 'see what is known of its devices',
    command: 'kubectl get fencedevices -n {{namespace}} -o wide',
  },
  stop: {
    to: 'stop everything about it, as it stands, until fenceline resume: a machine that is off stays off, and pods that wait go on waiting',
    command: 'fenceline stop {{node}}',
  },
  withdraw: {
    to: 'if nobody wants the fence any more: take the request back',
    command: `kubectl patch nodefence node-fence-{{node}} --type=json -p '[{"op":"remove","path":"/spec/requested"}]'`,
  },
  resume: { to: 'let it go on from where it stands: its power may be cut then', command: 'fenceline resume {{node}}' },
  approve: {
    to: 'let this incident go on: its power may be cut, its pods are released, and it is switched on again',
    command: 'fenceline approve {{node}} --incident {{incident}}',
  },
  fence: {
    to: 'only if it has to be now: cut its power at once (what still runs there dies), and release its pods',
    command: 'fenceline fence {{node}}',
  },
  fenceAgain: {
    to: 'when its device is mended: begin a new fence, which cuts its power if it is on',
    command: 'fenceline fence {{node}}',
  },
  fenceAnyway: {
    to: 'fence it although no policy is about it: its power is cut',
    command: 'fenceline fence {{node}} --without-policy',
  },
  policy: { to: 'see what its policy says, and change it', command: 'kubectl edit remedypolicy {{policy}}' },
  policies: { to: 'see which policies there are', command: 'kubectl get remedypolicies' },
  enforce: {
    to: 'let the policy act, on this node and on every other one that it selects: whichever is in trouble may be cut',
    command: patchPolicy('{"mode":"Enforce"}'),
  },
  maintenanceOver: {
    to: 'when nobody works on it any more: say so; its power may be cut then',
    command: 'kubectl annotate node {{node}} fenceline.dev/maintenance-until-',
  },
  prolong: {
    to: 'if somebody still works on it: have it left alone until {{later}}',
    command: 'kubectl annotate --overwrite node {{node}} fenceline.dev/maintenance-until={{later}}',
  },
  pauseAll: {
    to: 'while you repair it: have no further machine cut for two hours, also when enough nodes respond again',
    command: 'fenceline pause --for 2h -n {{namespace}}',
  },
  endPause: {
    to: 'when nobody needs the pause any more: end it, for all nodes; whichever is in trouble may be cut then',
    command: 'fenceline pause --end -n {{namespace}}',
  },
  pause: { to: 'see who has paused everything, and why', command: 'fenceline pause --show -n {{namespace}}' },
  unpause: {
    to: 'when whoever has paused it is done: take the pauses away; its power is cut then, unless it is back',
    command: 'kubectl annotate node {{node}} {{unpause}}',
  },
  pauses: {
    to: 'see what is written on it, and until when it holds; who has written it only the audit log of the API server knows',
    command: 'kubectl annotate node {{node}} --list',
  },
  describe: { to: 'see its conditions, taints and events', command: 'kubectl describe node {{node}}' },
  uncordon: {
    to: 'if the cordon is left over, and nobody reboots it: take it away; nothing waits for that reboot then, and its power may be cut',
    command: 'kubectl uncordon {{node}}',
  },
  pods: {
    to: 'see what is on it',
    command: 'kubectl get pods --all-namespaces --field-selector spec.nodeName={{node}}',
  },
  record: { to: 'see everything that is on record', command: 'kubectl get nodefence node-fence-{{node}} -o yaml' },
  history: { to: 'see what happened so far', command: 'kubectl describe nodefence node-fence-{{node}}' },
  attachments: { to: 'see which volumes are attached where', command: 'kubectl get volumeattachments' },
  assertDead: {
    to: 'only if you have seen with your own eyes that the machine is off (if it is on, two write to one volume): say so, and Kubernetes lets its pods go; take it away, by a minus sign at its end, before the machine is switched on',
    command: 'kubectl taint node {{node}} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute',
  },
  planDrain: { to: 'see what blocks its drain, and whether it can ever end', command: 'fenceline plan-drain {{node}}' },
  drainAnyway: { to: 'drain it all the same: first this, then the drain', command: 'kubectl uncordon {{node}}' },
  undrain: { to: 'give the drain up', command: 'kubectl uncordon {{node}}' },
  operators: {
    to: 'see why its own pods do not run: their state, and the nodes where they are',
    command: 'kubectl get pods -n {{namespace}} -o wide',
  },
  changes: {
    to: 'see when its policy was changed last, and by which program; by whom only the audit log of the API server knows',
    command: 'kubectl get remedypolicy {{policy}} -o yaml --show-managed-fields',
  },
  leader: {
    to: 'see who led last, and when',
    command: 'kubectl get leases --all-namespaces --field-selector metadata.name=fenceline',
  },
  // By the account that deploy/guard.yaml lets write records, under whatever name somebody types.
  run: {
    to: 'the last resort, if they cannot be brought back in time: start one from here, by its own account; it acts at once on every node that a policy selects, has to reach their devices from here, and ends with this terminal; leave --as out where neither the chart nor deploy/role.yaml was applied',
    command: 'fenceline run --leader-elect-namespace {{namespace}} --as system:serviceaccount:{{namespace}}:fenceline',
  },
} as const satisfies Record<string, Command>;

const c = COMMANDS;

/** So many at once are a switch more often than dead machines. Whoever mends it has slower ones cut as soon as most are back. */
const lookFirst: Advice['can'] = [
  { ...c.status, to: 'see which nodes are silent, and look first whether a network or a switch has failed' },
  c.pauseAll,
  {
    ...c.policy,
    to: 'only if these machines are really dead: raise storm.maxUnresponsive above the share of them; the power of every one that its policy fences is cut then, and so many are named above',
  },
];

/** Not before that, and whoever repairs it has to know what follows. */
const afterStorm =
  'and storm.cooldown has passed; whoever is still silent may be cut then; machines found off, and pods whose volumes can all be detached safely, are let go all the same';

export const HELD_ADVICE: AdviceFor<typeof HELD> = {
  StormLimit: {
    ends: `no more nodes are in trouble than storm.maxUnresponsive of policy {{policy}} allows, ${afterStorm}`,
    can: lookFirst,
  },
  ZoneStormLimit: {
    ends: `no more nodes of the zone are in trouble than storm.maxUnresponsive of policy {{policy}} allows, ${afterStorm}`,
    can: lookFirst,
  },
  ControlPlaneQuorum: {
    ends: 'enough nodes of the control plane, or of etcd, respond again; machines that are found off, and pods whose volumes can all be detached safely, are let go all the same',
    can: [c.status, c.assertDead],
  },
  OwnNode: {
    ends: 'nobody else is in trouble, or has been for long enough, and another instance of the operator, on another node, leads: it is handed over by itself',
    can: [c.status, c.leader],
  },
  OwnNodeSilent: {
    ends: 'another instance of the operator leads, on a node that is heard of, or this node has been away for bootTimeout; machines that are found off are let go all the same',
    can: [c.status, c.leader],
  },
  OwnZoneAlone: {
    ends: 'a node of another zone is heard of again; machines that are found off are let go all the same',
    can: [c.status, c.leader, c.assertDead],
  },
  ConcurrencyLimit: {
    ends: 'one of the others has released what it has to, or has failed; this one is next then, by itself',
    can: [c.status, { ...c.policy, to: 'let more nodes be fenced at a time: storm.maxConcurrent' }],
  },
  ComingBack: {
    ends: 'it is Ready, or has not become so within a minute, or is silent again',
    can: [c.status],
  },
  LookingAround: {
    // A person's request does not wait for the others either: to suggest it here is to suggest a cut in the middle of a storm.
    ends: 'every other node has renewed its Lease since, or counts as silent: a matter of seconds',
    can: [c.status],
  },
  PlannedWork: {
    ends: 'the node is back, nobody plans anything with it any more, or bootTimeout has passed',
    can: [c.describe, c.uncordon, c.fence],
  },
  NothingToFree: {
    ends: 'the node is back, something runs there that would be freed, or bootTimeout has passed',
    can: [{ ...c.pods, to: 'see what is on it: nothing there waits for a cut' }, c.fence],
  },
  KubeletDown: {
    ends: 'its kubelet is back, or has been away for five minutes',
    can: [
      { ...c.describe, to: 'see what it last said; then start its kubelet on the machine: its pods run on without it' },
      c.fence,
    ],
  },
  ReleaseRefused: {
    ends: 'something goes again, which is tried on and on, or the node is back',
    can: [{ ...c.history, to: 'see what the API server says, and mend it: a right of the operator, or a webhook' }],
  },
  NamedPause: {
    ends: 'the time of every such annotation has passed, or it is removed',
    can: [
      c.pauses,
      c.prolong,
      c.unpause,
      { ...c.fence, to: 'only if whoever has paused it agrees: cut its power at once all the same' },
    ],
  },
  LeftToOthers: {
    ends: 'the other one has taken its mark away, the object that is named is gone or done, or the node is gone; what is found off is let go all the same',
    can: [
      { ...c.describe, to: 'see whose taint or finalizer is on it, if no object is named, and ask them' },
      {
        ...c.fence,
        to: 'only if whoever is at work on it agrees: cut its power at once (what still runs there dies), and release its pods',
      },
    ],
  },
  Cooldown: {
    ends: 'storm.cooldown of policy {{policy}} has passed since the storm',
    can: [c.status, { ...c.policy, to: 'if you know that the storm is over: shorten storm.cooldown' }],
  },
  SkipCondition: {
    ends: 'the node does not have that condition any more',
    can: [c.describe, { ...c.policy, to: 'change what is left alone: storm.skipWhen' }],
  },
  Maintenance: {
    ends: 'the time in the annotation has passed, or it is removed',
    can: [c.pauses, c.prolong, c.maintenanceOver],
  },
  AwaitingApproval: { ends: 'a person approves this incident, or the node is back', can: [c.approve, c.stop] },
  DryRun: { ends: 'the mode of policy {{policy}} is another one', can: [c.changes, c.enforce] },
  Paused: { ends: 'the mode of policy {{policy}} is another one', can: [c.changes, c.enforce] },
  PausedForAll: { ends: 'its time has passed, or somebody ends the pause', can: [c.pause, c.endPause] },
  Stopped: { ends: 'somebody resumes it', can: [c.resume] },
  Forbidden: {
    ends: 'policy {{policy}} does without what is forbidden, or the operator is started without that --forbid',
    can: [c.policy],
  },
  TooManyActs: {
    ends: 'the node is back; somebody undoes what is done, and has to be found first',
    can: [c.history, c.pods],
  },
};

const onItsWay = (ends: string): Advice => ({ ends, can: [c.history, c.stop] });

/** It does nothing more until a person acts, and says why. */
export const LEFT_OFF: Advice = {
  ends: 'somebody does what it waits for: switches the machine on once its pods are gone, and not before, or mends its configuration or policy',
  can: [c.check, c.policy],
};

/** A device that was told in vain may never answer. */
export const TRIED_IN_VAIN: Advice['can'] = [
  c.check,
  {
    ...c.assertDead,
    to: `after fenceline stop (below), or the operator may switch it on under this taint, and ${c.assertDead.to}`,
  },
  c.history,
  c.stop,
];

export const FENCED_ADVICE: AdviceFor<typeof FENCED> = {
  WaitingToIsolate: {
    ends: 'it is back, or its time for that has passed: fence.isolateAfter and fence.powerManagementAfter of policy {{policy}}',
    can: [c.stop, c.fence],
  },
  Isolating: onItsWay('a device confirms that it is cut off from its storage'),
  Isolated: onItsWay('it is back and clean, or its power is cut as well'),
  IsolationUnconfirmed: {
    ends: 'its device says again that it is cut off, its power is cut, or it is back',
    can: [c.check, c.assertDead, c.stop],
  },
  WaitingToPowerOff: {
    ends: 'it is back, or its time for that has passed: fence.powerManagementAfter of policy {{policy}}',
    can: [c.stop, c.fence],
  },
  PoweringOff: {
    ends: 'its device confirms that it is off, or all tries are used up: then somebody has to act',
    can: [c.check, c.stop],
  },
  PoweredOff: onItsWay('what may go has gone, and it is switched on again'),
  PoweringOn: { ends: 'its device confirms that it is on', can: [c.check, c.history] },
  Booting: {
    ends: 'it is Ready in a new boot, or bootTimeout has passed',
    can: [{ ...c.describe, to: 'see whether it has reported; if it takes long, look at its console' }],
  },
  NodeDeleted: { ends: 'a node of this name joins the cluster', can: [c.record] },
  Recovering: onItsWay('what the fence did to it is undone'),
  Recovered: { ends: 'it has trouble again', can: [c.history] },
  Cancelled: { ends: 'it has trouble again', can: [c.history] },
  FenceFailed: {
    ends: 'a new fence succeeds, or it is Ready in a new boot; until then what waits for it is not released',
    can: [c.check, c.fenceAgain, c.assertDead],
  },
  OutletsSwapped: {
    ends: 'a person has found out which machine is plugged in where',
    can: [
      { ...c.witness, to: 'see how {{other}} is: its machine may be the one that was really switched off' },
      { ...c.status, to: 'see which other node is silent: its power may be off' },
      c.devices,
      c.where,
      c.clear,
      {
        ...c.fenceAgain,
        to: 'when it was seen that its plug is the right one, and not before: begin a new fence, which cuts its power',
      },
    ],
  },
};

export const ALARM_ADVICE: AdviceFor<typeof ALARM> = {
  NoAlarm: { ends: 'something passes a limit', can: [c.history] },
  RepeatedTrouble: {
    ends: 'fewer incidents lie within the time of the alarm',
    can: [{ ...c.record, to: 'see under problems when it was, and which pods were there each time' }, c.describe],
  },
  LadderExhausted: {
    ends: 'the trouble is gone',
    can: [c.describe, { ...c.policy, to: 'give its ladder another remedy' }, c.fence],
  },
  FenceInError: FENCED_ADVICE.FenceFailed,
  OutletsSwapped: FENCED_ADVICE.OutletsSwapped,
  NeverOff: {
    ends: 'a person has looked at the data of what was released, and at the device, and it is Ready in a new boot',
    can: [c.record, c.devices, c.clear],
  },
  TooManyActs: HELD_ADVICE.TooManyActs,
};
