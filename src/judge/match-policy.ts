/**
 * Which policy is in force for a node: of those that select it, the most specific one, which is the one whose selector
 * asks for the most labels. Of two that ask for equally many neither is in force: a guess would be right by chance.
 */
import type { Selector } from '../api/release-view.ts';

type Labels = Readonly<Record<string, string>>;

export type Match<P> = { kind: 'one'; policy: P } | { kind: 'none' } | { kind: 'tie'; names: string[] };

export function matchPolicy<P extends { name: string; selector: Selector }>(
  policies: Iterable<P>,
  labels: Labels,
): Match<P> {
  const matching = [...policies].filter(({ selector }) => selects(selector, labels));
  const most = Math.max(...matching.map(({ selector }) => specificity(selector)));
  const best = matching.filter(({ selector }) => specificity(selector) === most);
  const [only] = best;
  if (only === undefined) return { kind: 'none' };
  if (best.length === 1) return { kind: 'one', policy: only };
  return { kind: 'tie', names: best.map(({ name }) => name).sort() };
}

function specificity({ matchLabels, matchExpressions }: Selector): number {
  return Object.keys(matchLabels).length + matchExpressions.length;
}

export function selects({ matchLabels, matchExpressions }: Selector, labels: Labels): boolean {
  const valueOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      const value = valueOf(key);
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value);
        case 'NotIn':
          return value === undefined || !values.includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        // An operator of a newer version: whom it selects is not known, so it selects nobody.
        default:
          return false;
      }
    })
  );
}
