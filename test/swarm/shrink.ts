/** From a scenario that breaks something to the smallest part of it that still does, in a bounded number of tries. */
import type { ScenarioDocument } from './document.ts';

export interface Shrunk {
  document: ScenarioDocument;
  tries: number;
}

type Breaks = (document: ScenarioDocument) => Promise<boolean>;

export async function shrink(document: ScenarioDocument, breaks: Breaks, mostTries = 200): Promise<Shrunk> {
  let tries = 0;
  let best = document;
  const attempt = async (candidate: ScenarioDocument): Promise<boolean> => {
    if (tries >= mostTries) return false;
    tries += 1;
    if (!(await breaks(candidate))) return false;
    best = candidate;
    return true;
  };
  await fewer(best.spec.events, (events) => attempt(withSpec(best, { events })));
  await fewer(best.spec.objects, (objects) => attempt(withSpec(best, { objects })));
  await fewer(best.spec.cluster.nodes, (nodes) => attempt(withCluster(best, { nodes })));
  await attempt(without(best, 'longhorn'));
  await attempt(withCluster(best, { operators: 1 }));
  // With less around them, more events may turn out to be needless.
  await fewer(best.spec.events, (events) => attempt(withSpec(best, { events })));
  return { document: best, tries };
}

function withSpec(document: ScenarioDocument, change: Partial<ScenarioDocument['spec']>): ScenarioDocument {
  return { ...document, spec: { ...document.spec, ...change } };
}

function withCluster(document: ScenarioDocument, change: Record<string, unknown>): ScenarioDocument {
  return withSpec(document, { cluster: { ...document.spec.cluster, ...change } });
}

function without(document: ScenarioDocument, key: string): ScenarioDocument {
  const { [key]: _gone, ...cluster } = document.spec.cluster;
  return withSpec(document, { cluster: cluster as ScenarioDocument['spec']['cluster'] });
}

/** Delta debugging: halves, quarters and so on are left out, down to single ones, as long as it goes on breaking. */
async function fewer<T>(list: readonly T[], holds: (rest: T[]) => Promise<boolean>): Promise<void> {
  let current = [...list];
  for (let size = Math.ceil(current.length / 2); size >= 1 && current.length > 0;) {
    let found = false;
    for (let from = 0; from < current.length; from += size) {
      const rest = [...current.slice(0, from), ...current.slice(from + size)];
      if (await holds(rest)) {
        current = rest;
        found = true;
        from -= size;
      }
    }
    if (size === 1 && !found) return;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
}
