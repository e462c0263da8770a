/** What the page Rehearse begins with: the policies in force as a person would write them, and those of the reference. */
import { EXAMPLES } from '../api/examples.ts';
import { PRIORITY_DEFAULT, REMEDY_DEFAULTS } from '../api/policy-defaults.ts';
import { toYaml } from '../cli/yaml.ts';
import type { ClusterWatch, StoredPolicy } from './cluster-watch.ts';
import { byName } from './now.ts';
import type { RehearsePage } from './picture.ts';

export function rehearsePage({ remedyPolicies }: Pick<ClusterWatch, 'remedyPolicies'>): RehearsePage {
  return {
    kind: 'rehearse',
    inForce: remedyPolicies
      .map((policy) => ({ name: policy.metadata.name, text: policyText(policy) }))
      .toSorted((a, b) => byName(a.name, b.name)),
    examples: EXAMPLES.filter(({ first }) => first).map(({ title, yaml }) => ({
      name: /name: ([a-z-]+)/.exec(yaml)?.[1] ?? title,
      title,
      text: yaml,
    })),
  };
}

/** Without what the API server fills in by itself, so that what somebody has meant can be seen. */
export function policyText({ apiVersion, kind, metadata, spec = {} }: StoredPolicy): string {
  return toYaml({
    apiVersion: apiVersion ?? 'fenceline.dev/v1alpha1',
    kind: kind ?? 'RemedyPolicy',
    metadata: { name: metadata.name },
    spec: without(spec, {
      ...REMEDY_DEFAULTS,
      // Absent it is off: its default is that of somebody who writes it.
      fence: { ...REMEDY_DEFAULTS.fence, powerWatch: undefined },
      priority: PRIORITY_DEFAULT,
      allNodes: false,
      // These are lists, whose elements have defaults of their own.
      alarms: [],
    }),
  });
}

function without(spec: object, defaults: Readonly<Record<string, unknown>>): object {
  const kept = Object.entries(spec).flatMap(([name, value]): [string, unknown][] => {
    const usual = defaults[name];
    if (same(value, usual ?? [])) return [];
    if (Array.isArray(value)) return [[name, value.map((one: unknown) => (isGroup(one) ? without(one, {}) : one))]];
    if (!isGroup(value) || !isGroup(usual)) return [[name, value]];
    const rest = without(value, usual);
    return Object.keys(rest).length === 0 ? [] : [[name, rest]];
  });
  return Object.fromEntries(kept);
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
