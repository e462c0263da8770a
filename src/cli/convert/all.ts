/** Makes manifests of ours of documents that belong together: a health check names a template of another document. */
import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, GROUP } from '../../api/common.ts';
import { likeliest } from '../../api/nearest.ts';
import type { Place } from '../../scenario/reader.ts';
import { problem, ScenarioError, whereOf } from '../../scenario/reader.ts';
import type { Found, Source } from './documents.ts';
import { documentsOf, nameOf, namespaceOf, valueAt } from './documents.ts';
import { fenceConfigsOf } from './fence-config.ts';
import type { FenceTemplate } from './fence-template.ts';
import { fenceTemplateOf } from './fence-template.ts';
import { CLUSTER_API, convertMachineHealthCheck, OPENSHIFT } from './machine-health-check.ts';
import type { HealthCheck } from './node-health-check.ts';
import { convertNodeHealthCheck } from './node-health-check.ts';
import { convertOwn } from './own-policy.ts';
import { convertConfiguration } from './policy.ts';
import { FENCE_TEMPLATE, templateKey } from './remediations.ts';
import type { Made, Manifest, Settings } from './result.ts';
import { Notes } from './result.ts';

export interface Converted {
  manifests: Manifest[];
  notes: readonly string[];
}

/** What is read, by kind, and in which API groups. */
const readable: Readonly<Record<string, readonly string[]>> = {
  Configuration: ['node-remedy/v1alpha'],
  NodeHealthCheck: ['remediation.medik8s.io/v1alpha1'],
  [FENCE_TEMPLATE]: ['fence-agents-remediation.medik8s.io/v1alpha1'],
  SelfNodeRemediationTemplate: ['self-node-remediation.medik8s.io/v1alpha1'],
  MachineHealthCheck: [`${OPENSHIFT}/v1beta1`, `${CLUSTER_API}/v1beta2`, `${CLUSTER_API}/v1beta1`],
  RemedyPolicy: [API_VERSION],
  DrainPolicy: [API_VERSION],
};
/** Of which there is nothing to print: the objects themselves stay as they are. */
const passedOver = ['Secret', 'ConfigMap', 'Namespace'];

export function convertAll(sources: readonly Source[], settings: Settings): Converted {
  const conversion = new Conversion(settings);
  const found = documentsOf(sources);
  // A template may stand after what names it.
  conversion.each(found, (document) => conversion.readTemplate(document));
  conversion.each(found, (document) => conversion.convert(document));
  conversion.each([...conversion.unused()], (template) => conversion.convertAlone(template));
  return conversion.result();
}

class Conversion {
  readonly #settings: Settings;
  readonly #notes = new Notes();
  readonly #problems: string[] = [];
  readonly #templates = new Map<string, FenceTemplate>();
  readonly #used = new Set<FenceTemplate>();
  readonly #made: Made[] = [];

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Goes on after a problem, so that one look shows them all. */
  each<T>(items: readonly T[], work: (item: T) => void): void {
    for (const item of items) {
      try {
        work(item);
      } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        this.#problems.push(...error.problems);
      }
    }
  }

  readTemplate({ group, version, kind, place }: Found): void {
    if (kind !== FENCE_TEMPLATE || !readable[kind]?.includes(`${group}/${version}`)) return;
    const template = fenceTemplateOf(place, this.#settings, this.#notes);
    const key = templateKey(template.name, namespaceOf(place));
    const before = this.#templates.get(key);
    if (before !== undefined) problem(place, `it is there twice, also at ${whereOf(before.place)}: remove one of them`);
    this.#templates.set(key, template);
  }

  convert(document: Found): void {
    const { group, kind, place } = document;
    if (group === '' && passedOver.includes(kind)) {
      this.#notes.add(place, `${kind} ${nameOf(place) ?? ''} is not printed: it stays as it is`);
      return;
    }
    expectKnown(document);
    if (kind === 'Configuration') this.#take(place, [convertConfiguration(place, this.#settings, this.#notes)]);
    else if (group === GROUP) this.#take(place, [convertOwn(kind, place, this.#settings, this.#notes)]);
    else if (kind === 'NodeHealthCheck') {
      this.#takeCheck(place, convertNodeHealthCheck(place, this.#templates, this.#settings, this.#notes));
    } else if (kind === 'MachineHealthCheck') {
      this.#takeCheck(place, convertMachineHealthCheck(document, this.#templates, this.#settings, this.#notes));
    }
  }

  /** Those that no health check names; after a problem nobody knows. */
  unused(): FenceTemplate[] {
    return this.#problems.length > 0 ? [] : [...this.#templates.values()].filter((one) => !this.#used.has(one));
  }

  convertAlone(template: FenceTemplate): void {
    const { nodes, namespace } = this.#settings;
    const { name, place } = template;
    this.#take(place, fenceConfigsOf({ templates: [template], nodes, name, namespace, place }));
  }

  result(): Converted {
    if (this.#problems.length > 0) throw new ScenarioError([...new Set(this.#problems)]);
    if (this.#made.length === 0)
      throw new ScenarioError(['none of these documents becomes a policy or a fence configuration']);
    return { manifests: this.#made.map(({ manifest }) => manifest), notes: this.#notes.lines };
  }

  #takeCheck(place: Place, { policy, nodes, templates, place: chosen }: HealthCheck): void {
    for (const template of templates) this.#used.add(template);
    const { name } = policy.metadata;
    const { namespace } = this.#settings;
    const configs = templates.length === 0 ? [] : fenceConfigsOf({ templates, nodes, name, namespace, place: chosen });
    // What a policy needs comes before it.
    this.#take(place, [...configs, policy]);
  }

  /** Two health checks may name one template, and two documents must not make two objects of one name. */
  #take(place: Place, manifests: readonly Manifest[]): void {
    for (const manifest of manifests) {
      const { kind, metadata } = manifest;
      const same = this.#made.find((one) => one.manifest.kind === kind && one.manifest.metadata.name === metadata.name);
      if (kind === 'ConfigMap' && isDeepStrictEqual(same?.manifest, manifest)) continue;
      if (same !== undefined) {
        const called = `this and the document at ${whereOf(same.place)} would both become ${kind} ${metadata.name}`;
        problem(place, `${called}: write metadata: {name: …} into each`);
      }
      this.#made.push({ manifest, place });
    }
  }
}

function expectKnown({ group, version, kind, place }: Found): void {
  const versions = readable[kind];
  if (versions === undefined) {
    const kinds = Object.keys(readable);
    const near = likeliest(kind, kinds);
    const hint = `${near === undefined ? '' : `did you mean ${near}? `}What is read: ${kinds.join(', ')}`;
    return problem(valueAt(place, 'kind') ?? place, `${kind} cannot be converted; ${hint}`);
  }
  if (versions.includes(`${group}/${version}`)) return;
  // The proposal never had another version, and nobody agrees on how it is written.
  if (kind === 'Configuration' && group === 'node-remedy') return;
  problem(valueAt(place, 'apiVersion') ?? place, `write ${versions.join(' or ')}`);
}
