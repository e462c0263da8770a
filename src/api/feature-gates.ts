/** Feature gates, written as everywhere in Kubernetes: `--feature-gates=ForceEviction=true,NonGracefulFailover=false`. */
interface Gate {
  default: boolean;
  stage: 'Alpha' | 'Beta' | 'GA';
  since: string;
  description: string;
}

/** Off by default: each lets pods go on the word of somebody else, a driver or a person. */
export const FEATURE_GATES = {
  NonGracefulFailover: {
    default: false,
    stage: 'Alpha',
    since: '0.1',
    description: 'Release terminating pods of nodes that are not Ready when all their volumes are safe to detach.',
  },
  ForceEviction: {
    default: false,
    stage: 'Alpha',
    since: '0.1',
    description: 'Take the taint fenceline.dev/force-eviction as the word that nothing runs on a node any more.',
  },
} as const satisfies Record<string, Gate>;

export type FeatureGate = keyof typeof FEATURE_GATES;
export type FeatureGates = Readonly<Record<FeatureGate, boolean>>;

const names = Object.keys(FEATURE_GATES) as FeatureGate[];

/** What is not mentioned has its default. Throws with a sentence for people when a gate does not exist. */
export function featureGates(set: Readonly<Record<string, boolean>> = {}): FeatureGates {
  for (const name of Object.keys(set)) {
    if (!Object.hasOwn(FEATURE_GATES, name)) {
      throw new Error(`there is no feature gate "${name}": write one of ${names.join(', ')}`);
    }
  }
  return Object.fromEntries(names.map((name) => [name, set[name] ?? FEATURE_GATES[name].default])) as Record<
    FeatureGate,
    boolean
  >;
}

export function parseFeatureGates(text: string): FeatureGates {
  const set: Record<string, boolean> = {};
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [name = '', value] = part.split('=', 2).map((one) => one.trim());
    if (value !== 'true' && value !== 'false') {
      throw new Error(`"${part}" is no feature gate: write ${name === '' ? names[0] : name}=true or =false`);
    }
    set[name] = value === 'true';
  }
  return featureGates(set);
}
