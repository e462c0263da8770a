/**
 * The Job of a remedy, from the template that its policy has for it (REM-2). It never runs on the node that it is about
 * (REM-3), and its name says which step of which incident it is, so that it is made once (REM-5).
 */
import { REMEDY_ACCOUNT } from '../api/fence-names.ts';
import { hash } from '../api/hash.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { JobOrder } from '../api/steps.ts';

export const NODE_LABEL = 'fenceline.dev/remedied-node-uid';

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: PodSpec;
}

interface PodSpec {
  restartPolicy?: string;
  containers?: Container[];
  initContainers?: Container[];
  affinity?: { nodeAffinity?: NodeAffinity };
}

interface Container {
  env?: { name: string; value?: string }[];
}

interface NodeAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms?: Term[] };
}

interface Term {
  matchExpressions?: object[];
  matchFields?: { key: string; operator: string; values: string[] }[];
}

type Ladder = NodeFenceStatus['ladders'][number];

/** Long enough for a repair, and the ladder goes on: who needs longer sets activeDeadlineSeconds in the template. */
const deadlineSeconds = 600;
const keptForSeconds = 86_400;
const maxName = 63;

/** The same step of the same incident has the same name, whoever makes it. */
export function jobName(ladder: Ladder, nodeUid: string): string {
  const { threshold, position, phase, startedAt, remedy } = ladder;
  const step = [nodeUid, threshold, phase === 'recovering' ? 'recovery' : 'rung', position, startedAt].join(' ');
  const suffix = `-${hash(step)}`;
  return `fenceline-${remedy}`.slice(0, maxName - suffix.length).replace(/[-.]+$/, '') + suffix;
}

export function jobOf(order: JobOrder, template: PodTemplate): Record<string, unknown> {
  const { name, remedy, node, trouble, incident } = order;
  const facts = { node: node.name, 'node-uid': node.uid, condition: trouble, incident, remedy };
  const env = Object.entries(facts).map(([key, value]) => ({
    name: `FENCELINE_${key.toUpperCase().replaceAll('-', '_')}`,
    value,
  }));
  const { metadata, spec } = template;
  // Also as annotations: a template may take them by the downward API under names of its own.
  const annotations = Object.fromEntries(Object.entries(facts).map(([key, value]) => [`fenceline.dev/${key}`, value]));
  const labels = { [NODE_LABEL]: node.uid };
  const equipped = (containers: Container[] | undefined): Container[] | undefined =>
    containers?.map((container) => ({ ...container, env: [...env, ...(container.env ?? [])] }));
  const initContainers = equipped(spec?.initContainers);
  return {
    metadata: { name, labels },
    spec: {
      // How often it is tried is up to the ladder.
      backoffLimit: 0,
      activeDeadlineSeconds: deadlineSeconds,
      ttlSecondsAfterFinished: keptForSeconds,
      template: {
        metadata: {
          ...metadata,
          labels: { ...metadata?.labels, ...labels },
          annotations: { ...metadata?.annotations, ...annotations },
        },
        spec: {
          restartPolicy: 'Never',
          // Not the one that is there for everybody, which others may give rights to.
          serviceAccountName: REMEDY_ACCOUNT,
          ...spec,
          containers: equipped(spec?.containers) ?? [],
          ...(initContainers === undefined ? {} : { initContainers }),
          affinity: elsewhere(spec?.affinity, node.name),
        },
      },
    },
  };
}

/** Terms are alternatives: each of them has to exclude the node. */
function elsewhere(affinity: PodSpec['affinity'], node: string): object {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const not = { key: 'metadata.name', operator: 'NotIn', values: [node] };
  const terms = required?.nodeSelectorTerms ?? [{}];
  const nodeSelectorTerms = terms.map((term) => ({ ...term, matchFields: [...(term.matchFields ?? []), not] }));
  const requiredDuringSchedulingIgnoredDuringExecution = { ...required, nodeSelectorTerms };
  const nodeAffinity = { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution };
  return { ...affinity, nodeAffinity };
}
