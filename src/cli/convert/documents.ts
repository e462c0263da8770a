/** The documents of all files, with what each of them says that it is. */
import { isMap } from 'yaml';
import type { Place } from '../../scenario/reader.ts';
import { entriesOf, File, isNothing, list, problem, scalar, ScenarioError } from '../../scenario/reader.ts';

export interface Source {
  name: string;
  text: string;
}

export interface Found {
  group: string;
  version: string;
  kind: string;
  place: Place;
}

export function documentsOf(sources: readonly Source[]): Found[] {
  const problems: string[] = [];
  const found: Found[] = [];
  for (const { name, text } of sources) {
    try {
      const own = documentsIn(new File(name, text));
      if (own.length === 0) problems.push(`${name}: there is no document: write apiVersion and kind, and what follows`);
      found.push(...own);
    } catch (error) {
      if (!(error instanceof ScenarioError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ScenarioError(problems);
  return found;
}

function documentsIn(file: File): Found[] {
  return file.documents
    .map((document): Place => ({ file, document, node: document.contents, path: '' }))
    .filter((place) => !isNothing(place))
    .flatMap(unfolded);
}

/** `kubectl get … -o yaml` gives a List of several. */
function unfolded(place: Place): Found[] {
  if (!isMap(place.node))
    problem(place, 'this is no object of Kubernetes: write apiVersion and kind, and what follows');
  const entries = entriesOf(place);
  const valueOf = (name: string): Place | undefined => entries.find(({ key }) => key === name)?.value;
  const [apiVersion, kind] = ['apiVersion', 'kind'].map((name) => {
    const at = valueOf(name);
    const value = at === undefined ? undefined : scalar(at);
    return typeof value === 'string' ? value : problem(at ?? place, `${name} must be given`);
  }) as [string, string];
  const items = valueOf('items');
  if (kind.endsWith('List') && items !== undefined) return list(unfolded)(items).flat();
  const [group = '', version] = apiVersion.split('/', 2);
  return [version === undefined ? { group: '', version: group, kind, place } : { group, version, kind, place }];
}

export function nameOf(place: Place): string | undefined {
  return metadataOf(place, 'name');
}

export function namespaceOf(place: Place): string | undefined {
  return metadataOf(place, 'namespace');
}

function metadataOf(place: Place, field: string): string | undefined {
  const value = valueAt(valueAt(place, 'metadata'), field);
  const written = value === undefined ? undefined : scalar(value);
  return typeof written === 'string' && written !== '' ? written : undefined;
}

/** Undefined where there is nothing. */
export function valueAt(place: Place | undefined, name: string): Place | undefined {
  if (place === undefined || !isMap(place.node)) return undefined;
  return entriesOf(place).find(({ key, value }) => key === name && !isNothing(value))?.value;
}
