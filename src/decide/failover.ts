/**
 * Which stateful pods would not fail over if their node died now, and why: as far as it can be told without asking anybody, from
 * a snapshot (EXP-4). What would prove that a pod has stopped is asked of the rules that would release it.
 */
import type { FailoverFinding, FailoverReason } from '../api/failover.ts';
import { FAILOVER_REASONS } from '../api/failover.ts';
import type { AllowedParameter } from '../api/agent-parameters.ts';
import { spentOver } from '../api/budgets.ts';
import { belongsToNode, isOver } from '../api/facts.ts';
import type { FeatureGates } from '../api/feature-gates.ts';
import { policyFacts } from '../api/policy-facts.ts';
import type { DriverFacts, PolicyFacts, PolicyMatch, VolumeFacts } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { Snapshot, SnapshotNode, SnapshotPod, SnapshotSet, SnapshotVolume } from '../api/snapshot.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import { tolerates } from '../release/by-assertion.ts';
import { listedVolume, ownerCovered } from '../release/by-policy.ts';
import { allProtected } from '../release/by-safe-detach.ts';
import { placesFor } from './placement.ts';
import { configFor, fencesBy } from './policy-nodes.ts';

export interface FailoverQuestion {
  snapshot: Snapshot;
  /** As the operator is started with. */
  gates: FeatureGates;
  /** Clouds that switch their instances off without anything being written: the schemes of provider IDs. */
  clouds: ReadonlySet<string>;
  allowed?: readonly AllowedParameter[];
}

/** What is looked up for every pod. */
interface Scene extends FailoverQuestion {
  nodes: ReadonlyMap<string, SnapshotNode>;
  policies: readonly PolicyFacts[];
  volumes: Readonly<Record<string, VolumeFacts>>;
  /** By the name of the PersistentVolume. */
  persistent: ReadonlyMap<string, SnapshotVolume>;
  drivers: Readonly<Record<string, DriverFacts>>;
  sets: ReadonlyMap<string, SnapshotSet>;
  /** By the UID of their controller. */
  siblings: ReadonlyMap<string, readonly SnapshotPod[]>;
  /** Nodes from which a Longhorn volume could be read. */
  replicas: ReadonlyMap<string, readonly string[]>;
}

type Said = Pick<FailoverFinding, 'reason' | 'message' | 'advice'>;

const unreachable = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
const longhornDriver = 'driver.longhorn.io';

export function failoverFindings(question: FailoverQuestion): FailoverFinding[] {
  const scene = sceneOf(question);
  const stateful = question.snapshot.pods.filter((pod) => isStateful(pod) && !belongsToNode(pod) && !isOver(pod));
  return stateful.flatMap((pod) => {
    const { node, namespace, name } = pod;
    if (node === undefined) return [];
    const said = [
      ...basisFindings(scene, pod),
      ...ownerFindings(scene, pod),
      ...volumeFindings(scene, pod),
      ...placeFindings(scene, pod),
    ];
    return said.map((one) => ({
      namespace,
      pod: name,
      node,
      ...one,
      failsOver: FAILOVER_REASONS[one.reason].limits,
    }));
  });
}

/** Which pods are looked at: those that keep something, or have a name to keep. */
export function isStateful({ claims, directVolumes, owner }: SnapshotPod): boolean {
  return claims.length > 0 || directVolumes.length > 0 || owner?.kind === 'StatefulSet';
}

function sceneOf(question: FailoverQuestion): Scene {
  const { nodes, pods, sets, claims, volumes, drivers, policies, replicas } = question.snapshot;
  const bound = new Map(volumes.flatMap(({ claim, facts }) => (claim === undefined ? [] : [[facts.claim, facts]])));
  const known = claims.map(({ metadata: { namespace = '', name } }): [string, VolumeFacts] => {
    const claim = `${namespace}/${name}`;
    const message = `claim ${claim} is bound to no volume`;
    return [claim, bound.get(claim) ?? { claim, known: false, reason: 'ClaimUnbound', message }];
  });
  return {
    ...question,
    nodes: new Map(nodes.map((node) => [node.name, node])),
    policies: policies.flatMap((policy): PolicyFacts | [] => policyFacts(policy) ?? []),
    volumes: Object.fromEntries(known),
    persistent: new Map(volumes.map((volume) => [volume.facts.volume, volume])),
    drivers: Object.fromEntries(drivers.map((driver) => [driver.name, driver])),
    sets: new Map(sets.map((set) => [set.uid, set])),
    siblings: Map.groupBy(pods, ({ owner }) => owner?.uid ?? ''),
    replicas: new Map(
      [...Map.groupBy(replicas, ({ volume }) => volume)].map(([volume, of]) => [volume, of.map(({ node }) => node)]),
    ),
  };
}

/** Whether anything would let it go. */
function basisFindings(scene: Scene, pod: SnapshotPod): Said[] {
  const node = scene.nodes.get(pod.node ?? '');
  if (node === undefined) return [said('NoPolicy', `its node ${pod.node} is not there`, 'look why it is gone')];
  const match = matchPolicy(scene.policies, node.labels);
  if (match.kind === 'none') {
    const advice = 'write a RemedyPolicy whose selector matches the labels of the node';
    return [said('NoPolicy', `no RemedyPolicy selects node ${node.name}`, advice)];
  }
  const { policy } = match;
  if (policy.mode === 'DryRun' || policy.mode === 'Paused') {
    return [said('NotEnforced', `mode of policy ${policy.name} is ${policy.mode}`, 'write mode: Enforce or Approve')];
  }
  const fence = fenceProblem(scene, node, policy);
  const budget = budgetFindings(scene, pod, policy);
  // A fence needs nobody to have asked the pod to go.
  if (fence === undefined) return budget;
  const found = { policy: match, volumes: scene.volumes, drivers: scene.drivers };
  const objections = [fence, detachProblem(scene, found, pod), riskProblem(found, pod)];
  if (objections.every((one) => one !== undefined)) {
    const advice =
      'give the node a device and the policy a fence; podDeletion and provisioners would let it go without proof, at the risk of two writers';
    return [said('NoBasis', objections.join('; '), advice), ...budget];
  }
  return [...tolerationFindings(pod), ...budget];
}

type Found = { policy: PolicyMatch } & Pick<Scene, 'volumes' | 'drivers'>;

function fenceProblem(scene: Scene, node: SnapshotNode, policy: PolicyFacts): string | undefined {
  if (!fencesBy(policy)) return `policy ${policy.name} has no fence`;
  const { maps, devices } = scene.snapshot;
  const config = configFor(node, {
    maps,
    devices: devices.map(({ written }) => written),
    unwritten: () => undefined,
    allowed: scene.allowed,
  });
  if (!config.ok) return `node ${node.name} cannot be fenced: ${config.problems[0]?.reason ?? 'unknown'}`;
  const [cloud = ''] = (node.providerId ?? '').split('://', 1);
  const isKnown = config.config.source !== undefined || scene.clouds.has(cloud);
  return isKnown ? undefined : `no device is written for node ${node.name}`;
}

function detachProblem({ gates }: Scene, found: Found, pod: SnapshotPod): string | undefined {
  if (!gates.NonGracefulFailover) return 'the feature gate NonGracefulFailover is off';
  return allProtected(found, pod)?.message;
}

function riskProblem(found: Found, pod: SnapshotPod): string | undefined {
  return (ownerCovered(found, pod) ?? listedVolume(found, pod))?.message;
}

/** Without a fence it goes when Kubernetes has asked it to, which it never does of a pod that tolerates everything. */
function tolerationFindings({ tolerations }: SnapshotPod): Said[] {
  const matching = tolerations.filter((one) => tolerates(one, unreachable));
  if (matching.length === 0 || matching.some(({ tolerationSeconds }) => tolerationSeconds !== undefined)) return [];
  const message = `it tolerates ${unreachable.key}:${unreachable.effect} without end, and is never asked to go`;
  return [said('EndlessToleration', message, 'add tolerationSeconds to this toleration, or fence the node')];
}

function budgetFindings({ snapshot }: Scene, pod: SnapshotPod, policy: PolicyFacts): Said[] {
  if (policy.budgets !== 'Respect') return [];
  const [budget] = spentOver(
    snapshot.budgets.flatMap(({ spent }) => spent),
    pod,
  );
  if (budget === undefined) return [];
  const message = `budget ${budget} allows no disruption, and policy ${policy.name} respects budgets`;
  return [said('BudgetSpent', message, 'write release.budgets: ReleaseAfterFence, or let the budget allow one')];
}

/** Whether somebody would make it again. */
function ownerFindings(scene: Scene, pod: SnapshotPod): Said[] {
  const { owner } = pod;
  if (owner === undefined) {
    return [said('NoController', 'it belongs to no controller', 'let a StatefulSet or a Deployment make it')];
  }
  const set = scene.sets.get(owner.uid);
  if (set === undefined) return [];
  return [...predecessorFindings(scene, pod, set), ...rolloutFindings(scene, pod, set)];
}

function predecessorFindings({ siblings }: Scene, pod: SnapshotPod, set: SnapshotSet): Said[] {
  const mine = ordinalOf(pod.name);
  if (!set.isOrdered || mine === undefined) return [];
  const before = (siblings.get(set.uid) ?? []).filter(({ name }) => (ordinalOf(name) ?? Infinity) < mine);
  const late = before.find(({ isReady }) => !isReady);
  const missing = before.length < mine - set.start;
  if (late === undefined && !missing) return [];
  const which = late === undefined ? 'a pod with a lower number is missing' : `${late.name} is not ready`;
  const message = `${which}, and StatefulSet ${set.name} makes its pods in their order`;
  const advice = 'mend that pod, or make the set anew with podManagementPolicy: Parallel';
  return [said('PredecessorNotReady', message, advice)];
}

function ordinalOf(name: string): number | undefined {
  const digits = /-(\d+)$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function rolloutFindings(scene: Scene, pod: SnapshotPod, set: SnapshotSet): Said[] {
  const deployment = scene.sets.get(set.owner?.uid ?? '');
  if (deployment?.kind !== 'Deployment' || deployment.strategy === 'Recreate') return [];
  const single = volumesOf(scene, pod).find(({ facts }) => !facts.accessModes.includes('ReadWriteMany'));
  if (single === undefined) return [];
  const message = `Deployment ${deployment.name} rolls, and volume ${single.facts.volume} is for one node at a time`;
  return [said('RollingUpdate', message, 'write strategy: {type: Recreate}, or use a StatefulSet')];
}

/** Whether its data would be there. */
function volumeFindings(scene: Scene, pod: SnapshotPod): Said[] {
  const paths = (pod.object.spec.volumes ?? []).filter((volume) => volume['hostPath'] !== undefined);
  const unknown = pod.claims.flatMap(({ claim }) => {
    const facts = scene.volumes[`${pod.namespace}/${claim}`];
    return facts === undefined ? [`claim ${claim} is not there`] : facts.known ? [] : [facts.message];
  });
  return [
    ...unknown.map((message) => said('VolumeUnknown', message, 'bind the claim to a volume')),
    ...volumesOf(scene, pod).flatMap((volume) => persistentFindings(scene, pod, volume)),
    ...paths.map(({ name }) =>
      said('HostPath', `volume ${name} is a path of its node`, 'keep what matters in a PersistentVolume'),
    ),
  ];
}

function persistentFindings(scene: Scene, { node }: SnapshotPod, { facts, object }: SnapshotVolume): Said[] {
  const name = facts.volume;
  const spec = object['spec'] as { hostPath?: object } | undefined;
  if (facts.local || spec?.hostPath !== undefined) {
    const advice = 'use a volume that other nodes can attach, or let the program itself keep copies';
    return [said('LocalVolume', `volume ${name} is on the disk of ${node}`, advice)];
  }
  const driver = facts.csi?.driver;
  const copies = driver === longhornDriver ? scene.replicas.get(facts.csi?.handle ?? '') : undefined;
  const isSole = copies !== undefined && copies.length > 0 && copies.every((place) => place === node);
  const more = 'set numberOfReplicas of the volume to at least 2, and wait until the new one is whole';
  return [
    ...(isSole ? [said('SoleReplica', `the only whole replica of volume ${name} is on ${node}`, more)] : []),
    ...(driver === undefined ? [] : driverFindings(scene, driver)),
  ];
}

/** The DaemonSet of a driver is told by the folder in which its kubelets find it. */
function driverFindings({ snapshot }: Scene, driver: string): Said[] {
  const taint = { key: QUARANTINE_KEY, effect: 'NoSchedule' };
  const strict = snapshot.sets.filter(({ kind, object }) => {
    const { volumes = [], tolerations = [] } = object.spec.template?.spec ?? {};
    const paths = volumes.map((one) => (one['hostPath'] as { path?: string } | undefined)?.path ?? '');
    const serves = kind === 'DaemonSet' && paths.some((path) => path.split('/').includes(driver));
    return serves && !tolerations.some((one) => tolerates(one, taint));
  });
  return strict.map(({ namespace, name }) =>
    said(
      'DriverNotTolerating',
      `DaemonSet ${namespace}/${name} of driver ${driver} does not tolerate ${QUARANTINE_KEY}`,
      `add the toleration {key: ${QUARANTINE_KEY}, operator: Exists} to it`,
    ),
  );
}

/** Whether there would be a node for it. How much room they have is not looked at: `simulate --from-cluster` does. */
function placeFindings(scene: Scene, pod: SnapshotPod): Said[] {
  const volumes = volumesOf(scene, pod);
  if (volumes.some(({ facts }) => facts.local)) return [];
  const places = placesFor(pod, volumes, scene.snapshot.nodes);
  switch (places.kind) {
    case 'none':
      return [said(places.reason, places.message, places.advice)];
    case 'some': {
      const zone = scene.nodes.get(pod.node ?? '')?.zone ?? '';
      const isBound = volumes.some(({ affinity }) => affinity !== undefined);
      if (zone === '' || !isBound || places.nodes.some((node) => node.zone !== zone)) return [];
      const message = `its volume can only be reached in zone ${zone}`;
      return [said('ZonalVolume', message, 'use storage that spans zones, or let the program itself keep copies')];
    }
  }
}

function volumesOf({ volumes, persistent }: Scene, pod: SnapshotPod): SnapshotVolume[] {
  return pod.claims.flatMap(({ claim }) => {
    const facts = volumes[`${pod.namespace}/${claim}`];
    return facts?.known === true ? (persistent.get(facts.volume) ?? []) : [];
  });
}

function said(reason: FailoverReason, message: string, advice: string): Said {
  return { reason, message, advice };
}
