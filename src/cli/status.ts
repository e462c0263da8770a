/**
 * `fenceline status`: what is thought of each node, judged by the same rules as in the operator, from one live look.
 *
 * The operator measures how long it has not seen a Lease change. A command that looks once can only compare what the
 * node's clock wrote with the API server's clock; a node whose clock is wrong shows up as such.
 */
import { Command, Option } from 'commander';
import { COMMANDS } from '../api/advice.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { isUnderFence } from '../api/facts.ts';
import { parseLabelSelector, selects } from '../api/label-selector.ts';
import type { Selector } from '../api/node-choice.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import { policyFacts } from '../api/policy-facts.ts';
import { ALARM, FENCED } from '../api/reasons.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { Judgement, NodeFacts, NodeView } from '../api/view.ts';
import { VERDICT_REASONS } from '../api/view.ts';
import { defaultLimits, judgeNode } from '../judge/judge-node.ts';
import { realClock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import {
  drainPolicies,
  fenceDevices,
  leases,
  nodeFences,
  nodeLeaseNamespace,
  nodes,
  remedyPolicies,
} from '../kube/resources.ts';
import type { SeenLease } from '../observe/project.ts';
import { projectLease, projectNode } from '../observe/project.ts';
import type { DrainPolicyStatus, DrainState } from '../report/drain-status.ts';
import { drainsByNode } from '../report/drain-status.ts';
import { releasesOf } from '../report/incidents.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { nobodyLeads } from './leading.ts';
import { isAnnotated, leftAloneBy, meaningless, outOfServiceBy } from './node-annotations.ts';
import type { LeftTaint } from './node-annotations.ts';
import { nodesArgument } from './node-argument.ts';
import { noSuchNode } from './no-such-node.ts';
import type { NodeStatus, Recovery } from './node-status.ts';
import { pauseText, placeOf, readPause, rivalsText } from './operator-place.ts';
import { quietOf, renderPause, renderQuiet } from './status-quiet.ts';
import { heldByStorm } from './status-storm.ts';
import { renderAlarms, renderDrains, renderRehearsals, renderStuck } from './status-blocks.ts';
import type { ReadDevice } from './status-devices.ts';
import { renderUnfenceable, unfenceableOf } from './status-devices.ts';
import { readAll, readOwn } from './read-all.ts';
import { renderTable } from './table.ts';
import { shutdownSignal } from './shutdown.ts';
import { UserError } from './user-error.ts';
import { watchText } from './watching.ts';

const formats = ['wide', 'name', 'json', 'yaml'] as const;
type Format = (typeof formats)[number];

export interface StatusReport {
  nodes: NodeStatus[];
  /** Of each node. */
  labels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** What the user may not read, and is therefore not shown. */
  unreadable: string[];
  /** What is wrong with the operators themselves. */
  warnings: string[];
}

export function statusCommand(): Command {
  const command = new Command('status').description('show the verdict on each node and what it rests on');
  return nodesArgument(addKubeFlags(command), '[node...]', 'only these nodes')
    .option('-l, --selector <selector>', 'only nodes with these labels, as in kubectl get')
    .option('-w, --watch', 'go on, and print each line that changes')
    .addOption(new Option('-o, --output <format>', 'instead of the table').choices(formats))
    .action(status);
}

interface StatusFlags extends Overrides {
  output?: Format;
  selector?: string;
  watch?: boolean;
}

async function status(names: string[], flags: StatusFlags): Promise<void> {
  const parsed = flags.selector === undefined ? undefined : parseLabelSelector(flags.selector);
  if (parsed?.ok === false) throw new UserError(`--selector: ${parsed.problem}`, 2);
  await withClient(flags, async (client) => {
    const told = new Set<string>();
    const say = (text: string): void => {
      if (!told.has(text)) process.stderr.write(`fenceline: ${text}\n`);
      told.add(text);
    };
    const read = async (): Promise<string> => {
      const report = await readStatus(client, flags.namespace);
      for (const warning of report.warnings) say(warning);
      if (report.unreadable.length > 0) say(renderUnreadable(report.unreadable));
      return render(chosenOf(report, names, parsed?.selector), flags.output);
    };
    const write = (text: string): void => void process.stdout.write(text);
    if (flags.watch !== true) return write(await read());
    const lost = (line: string): void => void process.stderr.write(`fenceline: ${line}\n`);
    await watchText(read, { clock: realClock, signal: shutdownSignal(() => {}), write, say: lost });
  });
}

export function chosenOf(
  { nodes: all, labels }: StatusReport,
  names: readonly string[],
  selector: Selector | undefined,
): NodeStatus[] {
  const missing = names.filter((name) => all.every(({ node }) => node !== name));
  if (missing.length > 0)
    throw noSuchNode(
      missing,
      all.map(({ node }) => node),
    );
  return all.filter(
    ({ node }) =>
      (names.length === 0 || names.includes(node)) &&
      (selector === undefined || selects(selector, labels.get(node) ?? {})),
  );
}

/** `namespace`: of the operator; absent: where its Lease or its configuration is. */
export async function readStatus(client: KubeClient, namespace?: string): Promise<StatusReport> {
  const facts = new Map<string, NodeFacts>();
  const labels = new Map<string, Record<string, string>>();
  const annotated = new Map<string, KubeObject>();
  const tainted = new Map<string, LeftTaint>();
  const renewals = new Map<string, SeenLease>();
  await readAll(client, nodes, undefined, (object) => {
    facts.set(object.metadata.name, projectNode(object));
    labels.set(object.metadata.name, object.metadata.labels ?? {});
    const taint = outOfServiceBy(object);
    if (taint !== undefined) tainted.set(object.metadata.name, taint);
    if (isAnnotated(object)) annotated.set(object.metadata.name, object);
  });
  const serverTime = await readAll(client, leases, nodeLeaseNamespace, (object) =>
    renewals.set(object.metadata.name, projectLease(object)),
  );
  const fences = await readOwn<NodeFence & KubeObject>(client, nodeFences);
  const policies = await readOwn<KubeObject & { status?: DrainPolicyStatus }>(client, drainPolicies);
  const listed = fences === 'forbidden' ? [] : fences;
  const alarms = alarmsOf(listed);
  const rehearsals = rehearsalsOf(listed);
  const place = await placeOf(client, { given: namespace, nowMs: serverTime });
  const pause = place && (await readPause(client, place));
  const remedies = await readOwn<KubeObject>(client, remedyPolicies);
  const unled = await nobodyLeads(client, serverTime);
  const quiet = {
    unled,
    pause,
    stopped: new Set(listed.flatMap(({ spec }) => (spec.stop ? [spec.node] : []))),
    policies: remedies === 'forbidden' ? [] : remedies.flatMap((policy) => policyFacts(policy) ?? []),
    nowMs: serverTime,
  };
  const recoveries = recoveriesOf(listed, unled === undefined);
  const devices = await readOwn<ReadDevice>(client, fenceDevices);
  const drains = drainsByNode(policies === 'forbidden' ? [] : policies.map(({ status }) => status));
  const all = [...facts.values()]
    .map((node) => statusOf(node, renewals.get(node.name), serverTime))
    .map((one) => ({
      ...one,
      ...quietOf(one.node, labels.get(one.node) ?? {}, quiet),
      ...leftAlone(annotated.get(one.node), listed, serverTime),
      ...(recoveries.get(one.node) ?? heldByStorm(one, labels.get(one.node) ?? {}, { ...quiet, fences: listed })),
      ...leftOut(tainted.get(one.node)),
      ...unfenceableOf(devices === 'forbidden' ? [] : devices, one.node),
      ...alarms.get(one.node),
      ...rehearsals.get(one.node),
      ...(one.unschedulable && drainOf(drains, one.node)),
    }))
    .sort((a, b) => a.node.localeCompare(b.node, 'en', { numeric: true }));
  const unreadable = [
    ...(fences === 'forbidden' ? [nodeFences] : []),
    ...(policies === 'forbidden' ? [drainPolicies] : []),
    ...(remedies === 'forbidden' ? [remedyPolicies] : []),
    ...(devices === 'forbidden' ? [fenceDevices] : []),
  ].map(({ plural, group }) => `${plural}.${group}`);
  const unseen = place !== undefined && pause === undefined ? [pauseText(place)] : [];
  const rivals = place && rivalsText(place);
  const left = [...tainted.values()].map(({ message, command }) => `${message}: ${command}`);
  const warnings = [
    ...(rivals === undefined ? [] : [rivals]),
    ...left,
    ...[...annotated.values()].flatMap(meaningless),
  ];
  return { nodes: all, labels, unreadable: [...unreadable, ...unseen], warnings };
}

/** What was begun before is brought to its end. */
function leftAlone(
  node: KubeObject | undefined,
  fences: readonly NodeFence[],
  nowMs: number,
): Pick<NodeStatus, 'leftAlone'> {
  const fence = fences.find(({ spec }) => spec.node === node?.metadata.name)?.status?.fence;
  const found = node === undefined || isUnderFence(fence) ? [] : leftAloneBy(node, nowMs);
  return found.length === 0 ? {} : { leftAlone: found };
}

function leftOut(taint: LeftTaint | undefined): Pick<NodeStatus, 'outOfService'> {
  return taint === undefined ? {} : { outOfService: taint.message };
}

function drainOf(drains: ReadonlyMap<string, DrainState>, node: string): { drain?: DrainState } {
  const drain = drains.get(node);
  return drain === undefined ? {} : { drain };
}

/** The verdict of the operator's own rule, from one look; `node`: absent, there is none. */
export function judged(
  name: string,
  node: NodeFacts | undefined,
  lease: SeenLease | undefined,
  serverTime: number,
): Judgement {
  const view: NodeView = { name, ...(node === undefined ? {} : { node }), ageMs: 0, silentMs: 0 };
  const renewedAt = Date.parse(lease?.renewTime ?? '');
  if (lease !== undefined && !Number.isNaN(renewedAt)) {
    view.lease = { ...lease, unchangedForMs: Math.max(0, serverTime - renewedAt), confirmed: true };
  }
  return judgeNode(view, defaultLimits);
}

function statusOf(node: NodeFacts, lease: SeenLease | undefined, serverTime: number): NodeStatus {
  const { name, zone, unschedulable } = node;
  const { verdict, reason, evidence } = judged(name, node, lease, serverTime);
  const quarantined = node.marks.includes(QUARANTINE_KEY);
  return {
    node: name,
    verdict,
    reason,
    explanation: VERDICT_REASONS[reason],
    zone,
    unschedulable,
    quarantined,
    evidence,
  };
}

function recoveriesOf(fences: readonly NodeFence[], isLed: boolean): Map<string, { recovery: Recovery }> {
  const open = fences.filter(({ status }) => status?.incident !== undefined);
  return new Map(
    open.map(({ spec, status }) => {
      const { next, ...recovery } = recoveryOf({ ...EMPTY_STATUS, ...status });
      // What the last operator has announced comes only with another one.
      return [spec.node, { recovery: { ...recovery, ...(isLed && next ? { next } : {}) } }];
    }),
  );
}

function alarmsOf(fences: readonly NodeFence[]): Map<string, Pick<NodeStatus, 'alarm'>> {
  const alarms = fences.flatMap(({ spec, status }) =>
    (status?.conditions ?? [])
      .filter(({ type, status: is }) => type === ALARM.of && is === 'True')
      .map(({ reason, message, lastTransitionTime: since }) => ({
        node: spec.node,
        alarm: { reason, message, since },
      })),
  );
  return new Map(alarms.map(({ node, alarm }) => [node, { alarm }]));
}

function rehearsalsOf(fences: readonly NodeFence[]): Map<string, Pick<NodeStatus, 'rehearsal'>> {
  return new Map(
    fences.flatMap(({ spec, status }) => {
      const { steps = [], waitsFor } = status?.rehearsal ?? {};
      if (steps.length === 0 && waitsFor === undefined) return [];
      return [[spec.node, { rehearsal: { steps, ...(waitsFor === undefined ? {} : { waitsFor }) } }] as const];
    }),
  );
}

function recoveryOf(status: NodeFenceStatus): Recovery {
  const { incident, hold, return: back, stuck, fence, next, conditions } = status;
  const told = conditions.find(({ type }) => type === FENCED.of);
  const isOpen = fence !== undefined && fence.phase !== 'finished';
  return {
    trouble: incident?.trouble ?? '',
    ...(hold && { hold: hold.message }),
    ...(hold?.command !== undefined && { command: [hold.to, hold.command].filter(Boolean).join(': ') }),
    ...(isOpen && told && { fence: { reason: told.reason, message: told.message, since: fence.stepStartedAt } }),
    ...(next && { next }),
    ...(back?.waitsFor !== undefined && { waitsFor: back.waitsFor }),
    releases: releasesOf(status).map(({ basis, by, pods, endedAt }) => ({
      basis,
      ...(by !== undefined && { by }),
      pods: pods.length,
      ended: endedAt !== undefined,
    })),
    stuck,
  };
}

/** On stderr, so that it never gets between a program and its JSON. */
export function renderUnreadable(unreadable: readonly string[]): string {
  return `you may not read ${unreadable.join(' and ')}, so what they say is not shown`;
}

export async function render(statuses: NodeStatus[], format: Format | undefined): Promise<string> {
  switch (format) {
    case 'json':
      return `${JSON.stringify(statuses, null, 2)}\n`;
    case 'yaml':
      return (await import('./yaml.ts')).toYaml(statuses);
    case 'name':
      return statuses.map(({ node }) => `node/${node}\n`).join('');
    case 'wide':
    case undefined: {
      const withRecovery = statuses.some(({ recovery }) => recovery !== undefined);
      const heads = [
        'NAME',
        'VERDICT',
        'REASON',
        'ZONE',
        'SCHEDULABLE',
        ...(withRecovery ? ['RECOVERY'] : []),
        ...(format === 'wide' ? ['EVIDENCE'] : []),
      ];
      const rows = statuses.map((one) => [
        one.node,
        one.verdict,
        one.reason,
        one.zone || '<none>',
        schedulableOf(one),
        ...(withRecovery ? [summaryOf(one.recovery)] : []),
        ...(format === 'wide' ? [one.evidence.map(({ detail }) => detail).join('; ')] : []),
      ]);
      return statuses.length === 0
        ? 'No nodes found\n'
        : [
            renderPause(statuses),
            renderTable(heads, rows),
            ...[renderQuiet, renderUnfenceable, renderAlarms, renderRehearsals, renderStuck, renderDrains].map((of) =>
              of(statuses),
            ),
          ].join('');
    }
  }
}

/** A node from which replicas leave by themselves is told from one that is only cordoned (DRN-14). */
function schedulableOf({ unschedulable, quarantined, drain, outOfService }: NodeStatus): string {
  if (outOfService !== undefined) return 'no, out of service';
  if (!unschedulable) return quarantined ? 'no, in quarantine' : 'yes';
  if (drain?.autoEvicting === true) return 'no, auto-evicting';
  return drain?.blocked === true && drain.reason !== 'OwnCordon' ? 'no, drain waits' : 'no';
}

/** The one thing that matters most just now. */
function summaryOf(recovery: Recovery | undefined): string {
  if (recovery === undefined) return '<none>';
  const { hold, command, stuck, releases, waitsFor, trouble, fence, next } = recovery;
  if (hold !== undefined) return `held: ${hold}${command === undefined || isThisOne(command) ? '' : ` (${command})`}`;
  const then = next?.at === undefined ? '' : `; by ${next.at}: ${next.what}`;
  const pods = stuck.length === 0 ? '' : `${stuck.length} ${stuck.length === 1 ? 'pod' : 'pods'} stuck`;
  if (fence !== undefined) {
    const told = `${[fence.reason, fence.message].filter(Boolean).join(': ')}${then}`;
    return pods === '' ? told : `${told}; ${pods}`;
  }
  if (pods !== '') return pods;
  const open = releases.filter(({ ended }) => !ended);
  const released = open.length > 0 ? open : releases;
  if (released.length === 0) return `${trouble}${then}`;
  const gone = released.reduce((sum, one) => sum + one.pods, 0);
  const bases = [...new Set(released.map(({ basis }) => basis))].join(', ');
  const what = `${open.length > 0 ? 'releasing' : 'released'} ${gone} ${gone === 1 ? 'pod' : 'pods'} (${bases})`;
  return waitsFor === undefined ? what : `${what}; ${waitsFor}`;
}

/** Whoever reads this has typed it. */
function isThisOne(command: string): boolean {
  return command === COMMANDS.status.command || command.endsWith(`: ${COMMANDS.status.command}`);
}
