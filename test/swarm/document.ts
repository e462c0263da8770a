/** A scenario as it stands in a file, which is what a seed becomes, what is shrunk and what is kept. */
import { stringify } from 'yaml';
import type { Scenario } from '../../src/scenario/format.ts';
import { parseScenarios } from '../../src/scenario/parse.ts';

export type Manifest = Record<string, unknown> & { kind: string; metadata: { name: string; namespace?: string } };
export type Happening = { at: string } & Record<string, unknown>;

export interface SwarmNode {
  name: string;
  zone?: string;
  labels?: Record<string, string>;
  bmc?: boolean;
  identity?: boolean;
}

export interface ScenarioDocument {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: {
    seed: number;
    cluster: { nodes: SwarmNode[] } & Record<string, unknown>;
    objects: Manifest[];
    events: Happening[];
    runFor: string;
  };
}

export function documentOf(name: string, spec: ScenarioDocument['spec']): ScenarioDocument {
  const kubernetes = withGrace(spec.cluster['kubernetes'] as Times);
  const whole = { ...spec, cluster: { ...spec.cluster, kubernetes } };
  return { apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', metadata: { name }, spec: whole };
}

interface Times {
  nodeMonitorGracePeriod: string;
  leaseDuration?: string;
}

/** With a grace shorter than two renewals Kubernetes calls healthy nodes dead all the time, whoever has chosen each of the two. */
function withGrace(times: Times): Times {
  const isSeldom = Number.parseFloat(times.leaseDuration ?? '40s') > 40;
  return isSeldom ? { ...times, nodeMonitorGracePeriod: '50s' } : times;
}

export function parse(document: ScenarioDocument): Scenario {
  const [scenario] = parseScenarios(document.metadata.name, JSON.stringify(document));
  if (scenario === undefined) throw new Error('no scenario');
  return scenario;
}

export function yamlOf(document: ScenarioDocument, comment: readonly string[] = []): string {
  const head = comment.map((line) => `# ${line}\n`).join('');
  return head + stringify(document, { version: '1.1', lineWidth: 120, aliasDuplicateObjects: false });
}

export const seconds = (value: number): string => `${Math.round(value * 10) / 10}s`;
