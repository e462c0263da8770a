/** The remediation templates that a health check names, as rungs of a ladder. */
import { formatDuration } from '../../api/duration.ts';
import type { Place } from '../../scenario/reader.ts';
import { problem } from '../../scenario/reader.ts';
import { namespaceOf } from './documents.ts';
import type { FenceTemplate } from './fence-template.ts';
import type { Reference, Step } from './health-check.ts';
import type { Notes } from './result.ts';

export const FENCE_TEMPLATE = 'FenceAgentsRemediationTemplate';

const instead = `name a ${FENCE_TEMPLATE} for the devices of the nodes instead`;

/** What other operators do to a node and Fenceline does not. */
const others: Readonly<Record<string, string>> = {
  SelfNodeRemediationTemplate:
    'has a node reboot itself, by an agent and a watchdog that Fenceline does not put on nodes',
  MachineDeletionRemediationTemplate:
    "deletes machines of OpenShift's Machine API; Fenceline deletes those of Cluster API",
  Metal3RemediationTemplate: 'reboots a BareMetalHost of Metal3; Fenceline asks the BMC of the machine itself',
};

export interface Ladder {
  steps: Step[];
  remedies: object[];
  templates: FenceTemplate[];
}

/** In the order in which they are tried. */
export function ladderOf(
  references: readonly Reference[],
  known: ReadonlyMap<string, FenceTemplate>,
  notes: Notes,
): Ladder {
  const fences = references.filter(({ kind }) => kind === FENCE_TEMPLATE);
  const last = fences.at(-1);
  for (const { kind, place } of references) {
    if (kind === FENCE_TEMPLATE) continue;
    const why = others[kind] ?? 'is not something that Fenceline can do';
    if (last === undefined) problem(place, `${kind} ${why}: ${instead}`);
    notes.add(place, `left out: ${kind} ${why}`);
  }
  if (last === undefined) throw new Error('a health check without any remediation was accepted');
  const templates = fences.map((reference) => templateFor(reference, known));
  if (templates.length > 1) {
    const names = templates.map(({ name }) => name).join(', then ');
    notes.add(
      last.place,
      `became one fence with several levels (${names}): the next is tried when a device has failed, not after a time`,
    );
  }
  const period = last.periodMs === undefined ? {} : { period: formatDuration(last.periodMs) };
  return { ...fencing(period), templates };
}

/** Both strategies of the other operator let go what ran on the node. */
export function fencing(period: { period?: string }): Pick<Ladder, 'steps' | 'remedies'> {
  return {
    steps: [{ name: 'fence', ...period, cleanResources: true }],
    remedies: [{ name: 'fence', fence: {} }],
  };
}

export function templateKey(name: string, namespace: string | undefined): string {
  return `${namespace ?? ''}/${name}`;
}

function templateFor({ name, namespace, place }: Reference, known: ReadonlyMap<string, FenceTemplate>): FenceTemplate {
  const found = known.get(templateKey(name, namespace)) ?? onlyOne(name, namespace, known);
  if (found !== undefined) return found;
  return problem(place, `${FENCE_TEMPLATE} ${name} is not among the documents: give its file as well`);
}

/** Files of manifests often leave the namespace to whoever applies them. */
function onlyOne(
  name: string,
  namespace: string | undefined,
  known: ReadonlyMap<string, FenceTemplate>,
): FenceTemplate | undefined {
  const isSame = (place: Place): boolean => {
    const own = namespaceOf(place);
    return namespace === undefined || own === undefined || own === namespace;
  };
  const fitting = [...known.values()].filter((template) => template.name === name && isSame(template.place));
  return fitting.length === 1 ? fitting[0] : undefined;
}
