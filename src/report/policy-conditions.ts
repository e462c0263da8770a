/** What the status of a RemedyPolicy says, from what was found out about it. Pure, so that a command can say the same. */
import { placeOf } from '../api/fence-config.ts';
import type { Condition } from '../api/common.ts';
import { clockTime } from '../api/facts.ts';
import type { ConfigProblem } from '../api/fence-config.ts';
import type { Use } from '../api/forbidden.ts';
import { beyondText } from '../api/forbidden.ts';
import type { NodeCheck } from '../api/node-check.ts';
import { choiceOf } from '../api/node-choice.ts';
import { FENCEABLE, READY, RISKY, VALID } from '../api/reasons.ts';
import type { WrittenPolicy } from '../api/written.ts';
import { fences, risksOf } from './policy-risks.ts';

export interface PolicyFindings {
  name: string;
  spec: WrittenPolicy;
  /** It lacks fields that the CRD fills in, and is in force for nobody. */
  lacksDefaults: boolean;
  /** The nodes that it is in force for. */
  nodes: readonly string[];
  /** Nodes that it would be in force for if it were older than the policy that applies there. */
  conflicts: readonly { node: string; winner: string }[];
  configProblems: readonly ConfigProblem[];
  /** Nodes without configuration, each with why that does not do. */
  unconfigured: readonly { node: string; why: string }[];
  /** Secrets of which is not known whether they are there. */
  unreadableSecrets: readonly { name: string; why: string }[];
  /** Remedies on its ladders that cannot be run. */
  unsupported: readonly string[];
  /** What it uses although the operator was told to forbid it. */
  beyond?: readonly Use[];
  /** Nodes with a device of which nobody looks whose machine it answers for. */
  unchecked: readonly string[];
  /** Nodes that would be let go by devices alone that cannot say whose power they are, and of which no drill has shown it. */
  unproven: readonly string[];
  /** Nodes that are cut off from their storage by a port that cannot say whose it is, and that nobody has shown. */
  unshown: readonly string[];
  /** Who else is set up to act on its nodes, a sentence each; and what nobody here may look at. */
  others?: { findings: readonly string[]; unread: readonly { what: string; why: string }[] } | undefined;
  /** A node that is not among them was not checked yet. */
  checks: readonly NodeCheck[];
}

export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

interface Said {
  reason: string;
  message: string;
}

const maxMessage = 8000;
/** More names than this help nobody; the metric has all of them. */
const maxNamed = 10;

export function findingsOf(found: PolicyFindings): Finding[] {
  const fenceable = found.lacksDefaults ? undefined : fenceableOf(found);
  const valid = validOf(found);
  return [{ ...valid, type: READY.of }, valid, riskyOf(found), ...(fenceable === undefined ? [] : [fenceable])];
}

function validOf(found: PolicyFindings): Finding {
  const { reason } = VALID;
  if (choiceOf(found.spec, {}) === undefined) {
    const message =
      'it does not say which nodes it is about, and is in force for none: write selector, or allNodes: true. One from before selector has lost its nodeSelector: write its labels again';
    return { type: VALID.of, status: 'False', reason: reason.NodesMissing, message };
  }
  if (found.lacksDefaults) {
    const message =
      'fields are missing that its CRD fills in, and it is not in force: install the CRDs of this version';
    return { type: VALID.of, status: 'False', reason: reason.DefaultsMissing, message };
  }
  const wrong = [
    ...forbiddenOf(found),
    ...conflictsOf(found),
    ...configsOf(found),
    ...missingOf(found),
    ...unsupportedOf(found),
  ];
  const unread = found.unreadableSecrets.map(({ name, why }) => `Secret ${name}: ${why}`);
  const unknown = unread.length === 0 ? [] : [{ reason: reason.SecretsUnreadable, message: named(unread, '; ') }];
  if (wrong.length > 0) return { type: VALID.of, status: 'False', ...joined([...wrong, ...unknown]) };
  if (unknown.length > 0) return { type: VALID.of, status: 'Unknown', ...joined(unknown) };
  const count = found.nodes.length;
  const message = `in force for ${count} ${count === 1 ? 'node' : 'nodes'}`;
  return { type: VALID.of, status: 'True', reason: reason.Accepted, message };
}

/** It stays in force wherever it wins; where it lost by its age alone, somebody may have meant otherwise. */
function conflictsOf({ conflicts }: PolicyFindings): Said[] {
  const byWinner = new Map<string, string[]>();
  for (const { node, winner } of conflicts) byWinner.set(winner, [...(byWinner.get(winner) ?? []), node]);
  return [...byWinner].map(([winner, nodes]) => ({
    reason: VALID.reason.Conflict,
    message: `${winner} selects ${named(nodes.sort())} just as specifically, is older, and applies there: write another priority in one of the two`,
  }));
}

function configsOf({ configProblems }: PolicyFindings): Said[] {
  const texts = configProblems.map((one) => `${placeOf(one)}: ${one.reason}`);
  const message = named([...new Set(texts)].sort(), '; ');
  return texts.length === 0 ? [] : [{ reason: VALID.reason.FenceConfigInvalid, message }];
}

function missingOf({ unconfigured }: PolicyFindings): Said[] {
  if (unconfigured.length === 0) return [];
  const nodes = named(unconfigured.map(({ node }) => node).sort());
  const why = [...new Set(unconfigured.map((one) => one.why))];
  const message = `no fence configuration for ${nodes} (${named(why, '; ')}): write a ConfigMap fence-config-<node>, or one with a selector`;
  return [{ reason: VALID.reason.FenceConfigMissing, message }];
}

function unsupportedOf({ unsupported }: PolicyFindings): Said[] {
  if (unsupported.length === 0) return [];
  const message = `this version cannot run ${named(unsupported)}; the ladders that need it are not in force`;
  return [{ reason: VALID.reason.RemedyUnsupported, message }];
}

/** Half of a policy is one that nobody has written: it does nothing at all, and no other policy takes its place. */
function forbiddenOf({ beyond = [], nodes }: PolicyFindings): Said[] {
  if (beyond.length === 0) return [];
  const message = `the operator was told to forbid ${beyondText(beyond)}: nothing is done by this policy about its ${nodes.length === 1 ? 'node' : `${nodes.length} nodes`} until it does without`;
  return [{ reason: VALID.reason.Forbidden, message }];
}

function riskyOf({ spec, nodes, unchecked, unproven, unshown, others }: PolicyFindings): Finding {
  const risks: Said[] = [
    ...risksOf(spec, nodes.length),
    ...unprovenOf(unproven),
    ...unshownOf(unshown),
    ...uncheckedOf(unchecked),
    ...othersOf(others),
  ];
  const unread = named(
    (others?.unread ?? []).map(({ what, why }) => `${what}: ${why}`),
    '; ',
  );
  const blind = unread === '' ? '' : `; not looked at: ${unread}`;
  if (risks.length > 0) {
    const { reason, message } = joined(risks);
    return { type: RISKY.of, status: 'True', reason, message: `${message}${blind}`.slice(0, maxMessage) };
  }
  const message = `no dangerous value was found${blind}`;
  return { type: RISKY.of, status: 'False', reason: RISKY.reason.NothingRisky, message };
}

/** Two who act on one node undo what the other one does (ADM-6). */
function othersOf({ findings }: NonNullable<PolicyFindings['others']> = { findings: [], unread: [] }): Said[] {
  return findings.length === 0 ? [] : [{ reason: RISKY.reason.OthersAct, message: named(findings, '; ') }];
}

/** Who falls silent by it tells whose it is, but a machine that is no node falls silent unseen (SAF-17). */
function unprovenOf(unproven: readonly string[]): Said[] {
  const [first] = unproven;
  if (first === undefined) return [];
  const message = `no outlet of ${named(unproven)} can say whose power it is, and no drill has shown it: a machine outside of the cluster may be plugged in there. Drill each of them once: fenceline drill ${first}`;
  return [{ reason: RISKY.reason.OutletUnproven, message }];
}

/** By a port nobody falls silent who could be missed. */
function unshownOf(unshown: readonly string[]): Said[] {
  const [first] = unshown;
  if (first === undefined) return [];
  const message = `the port of ${named(unshown)} to the storage cannot say whose it is, and nobody has shown it: another node may be cut off by it, and nothing goes before the power is cut. Close it once while the node is at rest, see that node lose its storage, and say so: fenceline check --shown ${first}`;
  return [{ reason: RISKY.reason.PortUnproven, message }];
}

function uncheckedOf(unchecked: readonly string[]): Said[] {
  if (unchecked.length === 0) return [];
  const message = `identity=unchecked for ${named(unchecked)}: if it is the device of another machine, that one is switched off`;
  return [{ reason: RISKY.reason.IdentityUnchecked, message }];
}

/** Undefined: the policy fences nobody. */
function fenceableOf({ spec, nodes, checks }: PolicyFindings): Finding | undefined {
  if (!fences(spec)) return undefined;
  const { reason } = FENCEABLE;
  const known = new Map(checks.map((check) => [check.node, check]));
  const bad = nodes.flatMap((node) => {
    const problem = known.get(node)?.problem;
    return problem === undefined ? [] : [`${node}: ${problem.reason}: ${problem.message}`];
  });
  const unchecked = nodes.filter((node) => !known.has(node)).length;
  const rest = unchecked === 0 ? '' : `; ${unchecked} of ${nodes.length} not asked yet`;
  if (bad.length > 0) {
    const message = `${bad.length} of ${nodes.length} could not be fenced${rest}: ${named(bad.sort(), '; ')}`;
    return { type: FENCEABLE.of, status: 'False', reason: reason.NotFenceable, message: message.slice(0, maxMessage) };
  }
  if (unchecked > 0) {
    return { type: FENCEABLE.of, status: 'Unknown', reason: reason.NotChecked, message: rest.slice(2) };
  }
  if (nodes.length === 0) {
    const nobody = 'it is in force for no node';
    return { type: FENCEABLE.of, status: 'Unknown', reason: reason.NotChecked, message: nobody };
  }
  const message = `the devices of ${nodes.length === 1 ? '1 node answer' : `${nodes.length} nodes answer`}`;
  return { type: FENCEABLE.of, status: 'True', reason: reason.AllFenceable, message };
}

/** One alone needs no label; of several each is told with its reason. */
function joined(said: readonly Said[]): Said {
  const [first] = said;
  const message = said.length === 1 ? first?.message : said.map((one) => `${one.reason}: ${one.message}`).join('; ');
  return { reason: first?.reason ?? '', message: (message ?? '').slice(0, maxMessage) };
}

function named(names: readonly string[], separator = ', '): string {
  if (names.length <= maxNamed) return names.join(separator);
  return `${names.slice(0, maxNamed).join(separator)}${separator}and ${names.length - maxNamed} more`;
}

/** The times of what has not changed stay; conditions of others stay altogether. `ours`: those that are said here. */
export function withFindings(
  before: readonly Condition[],
  findings: readonly Finding[],
  at: { generation: number; nowMs: number },
): Condition[] {
  const types = new Set<string>([READY.of, VALID.of, RISKY.of, FENCEABLE.of]);
  const kept = before.filter(({ type }) => !types.has(type));
  const said = findings.map((finding): Condition => {
    const known = before.find(({ type }) => type === finding.type);
    const since = known?.status === finding.status ? known.lastTransitionTime : clockTime(at.nowMs);
    return { ...finding, observedGeneration: at.generation, lastTransitionTime: since };
  });
  return [...kept, ...said];
}
