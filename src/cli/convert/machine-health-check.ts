/** A MachineHealthCheck of OpenShift or of Cluster API as a RemedyPolicy. */
import type { NodeSelector } from '../../api/common.ts';
import type { Place, Read } from '../../scenario/reader.ts';
import { list, plain, problem, record, text, whole } from '../../scenario/reader.ts';
import { namespaceOf, valueAt } from './documents.ts';
import type { Reference, Unhealthy } from './health-check.ts';
import {
  documentOf,
  labelSelector,
  noteOfCount,
  policyOf,
  reference,
  share,
  thresholdsOf,
  unhealthyOf,
  time,
} from './health-check.ts';
import { nodesOfMachines } from './machine-labels.ts';
import type { FenceTemplate } from './fence-template.ts';
import type { HealthCheck } from './node-health-check.ts';
import type { Ladder } from './remediations.ts';
import { fencing, ladderOf } from './remediations.ts';
import type { Notes, Settings } from './result.ts';

export const OPENSHIFT = 'machine.openshift.io';
export const CLUSTER_API = 'cluster.x-k8s.io';

/** All versions in one shape. */
interface Check {
  selector: NodeSelector;
  unhealthy: Unhealthy[];
  maxUnhealthy?: number | string;
  startupMs?: number;
  template?: Reference;
}

interface Older {
  clusterName?: string;
  selector: NodeSelector;
  unhealthyConditions?: Unhealthy[];
  unhealthyMachineConditions?: never;
  unhealthyExpressions?: never;
  maxUnhealthy?: number | string;
  unhealthyRange?: number;
  nodeStartupTimeout?: number;
  remediationTemplate?: Reference;
}

interface Newer {
  clusterName?: string;
  selector: NodeSelector;
  checks?: {
    nodeStartupTimeoutSeconds?: number;
    unhealthyNodeConditions?: Unhealthy[];
    unhealthyMachineConditions?: never;
    unhealthyExpressions?: never;
  };
  remediation?: {
    triggerIf?: { unhealthyLessThanOrEqualTo?: number | string; unhealthyInRange?: number };
    templateRef?: Reference;
  };
}

const ofMachines: Read<never> = (place) =>
  problem(place, 'Fenceline looks at nodes, not at Machines: remove it, or name a condition of the node');

/** `[0-5]`: at most five. From one on there is nothing to wait for; a higher minimum would fence nobody until more fail. */
const range: Read<number> = (place) => {
  const [, least, most] = /^\[(\d+)-(\d+)\]$/.exec(text(place)) ?? [];
  if (most === undefined) return problem(place, 'write a range such as [0-5]');
  if (Number(least) <= 1) return Number(most);
  return problem(place, `there is no least number of unhealthy nodes: write [0-${most}]`);
};

const seconds: Read<number> = (place) => whole(0)(place) * 1000;

const older = documentOf<Older>(
  record<Older>(
    {
      clusterName: text,
      selector: labelSelector,
      unhealthyConditions: list(unhealthyOf('timeout', time)),
      unhealthyMachineConditions: ofMachines,
      unhealthyExpressions: ofMachines,
      maxUnhealthy: share,
      unhealthyRange: range,
      nodeStartupTimeout: time,
      remediationTemplate: reference,
    },
    ['selector'],
  ),
);

const newer = documentOf<Newer>(
  record<Newer>(
    {
      clusterName: text,
      selector: labelSelector,
      checks: record(
        {
          nodeStartupTimeoutSeconds: seconds,
          unhealthyNodeConditions: list(unhealthyOf('timeoutSeconds', seconds)),
          unhealthyMachineConditions: ofMachines,
          unhealthyExpressions: ofMachines,
        },
        [],
      ),
      remediation: record(
        {
          triggerIf: record({ unhealthyLessThanOrEqualTo: share, unhealthyInRange: range }, []),
          templateRef: reference,
        },
        [],
      ),
    },
    ['selector'],
  ),
);

function checkOf(place: Place, isNewer: boolean): Check {
  if (!isNewer) {
    const { selector, unhealthyConditions = [], unhealthyRange, maxUnhealthy, ...rest } = older(place);
    const limit = unhealthyRange ?? maxUnhealthy;
    return {
      selector,
      unhealthy: unhealthyConditions,
      ...(limit === undefined ? {} : { maxUnhealthy: limit }),
      ...(rest.nodeStartupTimeout === undefined ? {} : { startupMs: rest.nodeStartupTimeout }),
      ...(rest.remediationTemplate === undefined ? {} : { template: rest.remediationTemplate }),
    };
  }
  const { selector, checks = {}, remediation: { triggerIf = {}, templateRef } = {} } = newer(place);
  const limit = triggerIf.unhealthyInRange ?? triggerIf.unhealthyLessThanOrEqualTo;
  const namespace = namespaceOf(place);
  return {
    selector,
    unhealthy: checks.unhealthyNodeConditions ?? [],
    ...(limit === undefined ? {} : { maxUnhealthy: limit }),
    ...(checks.nodeStartupTimeoutSeconds === undefined ? {} : { startupMs: checks.nodeStartupTimeoutSeconds }),
    ...(templateRef === undefined
      ? {}
      : { template: { ...templateRef, ...(namespace === undefined ? {} : { namespace }) } }),
  };
}

export function convertMachineHealthCheck(
  { group, version, place }: { group: string; version: string; place: Place },
  known: ReadonlyMap<string, FenceTemplate>,
  settings: Settings,
  notes: Notes,
): HealthCheck {
  const check = checkOf(place, group === CLUSTER_API && version !== 'v1beta1');
  const specPlace = valueAt(place, 'spec') ?? place;
  const selectorPlace = valueAt(specPlace, 'selector') ?? specPlace;
  if (check.unhealthy.length === 0)
    problem(specPlace, 'nothing of a node counts as trouble: write conditions of nodes');
  const { steps, remedies, templates } =
    check.template === undefined ? ownLadder(group, specPlace, notes) : ladderOf([check.template], known, notes);
  const nodes = nodesOfMachines({ group, selector: check.selector, place: selectorPlace }, settings, notes);
  const isPaused = hasAnnotation(place, `${CLUSTER_API}/paused`);
  if (isPaused) notes.add(place, 'it is paused, and became mode: Paused: nothing is decided until you write Enforce');
  if (check.startupMs !== 0) {
    notes.add(specPlace, 'a machine that never becomes a node is not seen by Fenceline (nodeStartupTimeout)');
  }
  if (check.maxUnhealthy === undefined) {
    notes.add(
      specPlace,
      'without maxUnhealthy there was no limit; here it is 40% of the nodes: write maxUnhealthy for another one',
    );
  } else noteOfCount(valueAt(specPlace, 'maxUnhealthy') ?? specPlace, check.maxUnhealthy, notes);
  const policy = policyOf(
    {
      place,
      nodes,
      ...(isPaused ? { mode: 'Paused' } : {}),
      thresholds: thresholdsOf(check.unhealthy, steps, notes),
      remedies,
      ...(check.maxUnhealthy === undefined ? {} : { maxUnresponsive: check.maxUnhealthy }),
    },
    settings,
    notes,
  );
  const both = 'as long as it is there, two operators remove the same machines';
  notes.add(place, `delete this MachineHealthCheck before the policy may act (mode: Enforce): ${both}`);
  if (group === CLUSTER_API) notes.add(place, 'the policy belongs in the cluster whose nodes these are');
  return { policy, nodes, templates, place: selectorPlace };
}

/** Without a template the machine is deleted, and its owner makes another one. */
function ownLadder(group: string, place: Place, notes: Notes): Ladder {
  const { steps, remedies } = fencing({});
  const how = 'nodes are fenced by their cloud, or by the ConfigMap fence-config-<node> that you write';
  if (group === OPENSHIFT) {
    notes.add(place, `the machine is switched off and on instead of being replaced; ${how}`);
    return { steps, remedies, templates: [] };
  }
  notes.add(place, `a machine is fenced first, and deleted only if that has not helped; ${how}`);
  return {
    steps: [...steps, { name: 'delete-machine' }],
    remedies: [...remedies, { name: 'delete-machine', deleteMachine: {} }],
    templates: [],
  };
}

function hasAnnotation(place: Place, name: string): boolean {
  const annotations = valueAt(valueAt(place, 'metadata'), 'annotations');
  return annotations !== undefined && Object.hasOwn(plain(annotations) as object, name);
}
