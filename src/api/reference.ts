/** The reference page, from the same schemas as the CRDs: what it says is what the API server does. */
import { API_VERSION } from './common.ts';
import { structuralSchemaOf, type StructuralSchema } from './crds.ts';
import { DURATION_HINT } from './duration-schema.ts';
import { EXAMPLES, type Example } from './examples.ts';
import { KINDS, type Kind } from './kinds.ts';
import { REASON_GROUPS, type ReasonGroup } from './reasons.ts';

interface Field {
  readonly path: string;
  readonly schema: StructuralSchema;
  readonly required: boolean;
}

export function renderReference(): string {
  return [
    '# API reference',
    '',
    '<!-- Generated from src/api by `npm run generate`. Do not edit. -->',
    '',
    `Group and version: \`${API_VERSION}\`. All kinds but FenceDevice are cluster-scoped. \`kubectl get fenceline\` lists all of them.`,
    '',
    'Durations are written as in Go, not negative and with a unit: `90s`, `5m`, `1h30m0s`, `1.5h`; for a bare number the API server',
    'says only that a string is wanted: write `12s` instead of `12`. A share of the nodes is a',
    'percentage, `40%`, or a number. What is left out is filled in by the API server, so `kubectl get -o yaml` shows what is in force;',
    'only `cleanResources` depends on the remedy beside it.',
    '',
    '## Three policies to begin with',
    '',
    ...EXAMPLES.filter(({ first }) => first).flatMap(exampleOf),
    ...KINDS.flatMap(kindSection),
    '## Conditions and reasons',
    '',
    ...REASON_GROUPS.flatMap(reasonSection),
  ]
    .join('\n')
    .replace(/\n+$/, '\n');
}

function kindSection(kind: Kind): string[] {
  const root = structuralSchemaOf(kind);
  const { spec, status } = root.properties ?? {};
  return [
    `## ${kind.kind}`,
    '',
    `${kind.about} Short name: ${kind.shortNames.map((name) => `\`${name}\``).join(', ')}.`,
    '',
    ...examplesOf(kind),
    ...(spec === undefined ? [] : table('spec', spec)),
    ...refusals(root),
    ...(status === undefined ? [] : table('status', status)),
  ];
}

function examplesOf(kind: Kind): string[] {
  return EXAMPLES.filter((it) => it.kind === kind.kind && it.first === undefined).flatMap(exampleOf);
}

function exampleOf({ title, yaml }: Example): string[] {
  return [`${title}:`, '', '```yaml', yaml.trimEnd(), '```', ''];
}

function table(name: string, schema: StructuralSchema): string[] {
  return [
    `### ${name}`,
    '',
    '| field | type | default | |',
    '|---|---|---|---|',
    ...fieldsOf(name, schema).map(row),
    '',
  ];
}

function row({ path, schema, required }: Field): string {
  return `| ${code(path)} | ${typeOf(schema)} | ${defaultOf(schema, required)} | ${cell(schema.description ?? '')} |`;
}

function defaultOf(schema: StructuralSchema, required: boolean): string {
  if (schema.default === undefined) return required ? '*required*' : '';
  return code(typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default));
}

/** The messages of the rules are the best account of what is refused, because they are what the user will read. */
function refusals(root: StructuralSchema): string[] {
  const rows = everyNode('', root)
    .filter(({ path, schema }) => !path.startsWith('status') && !isDuration(schema))
    .flatMap(({ path, schema }) =>
      (schema['x-kubernetes-validations'] ?? []).map((rule) => {
        const where = `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '');
        return `| ${code(where)} | ${cell(rule.message)} |`;
      }),
    );
  if (rows.length === 0) return [];
  return [
    'What is refused beyond types and limits, and with which words:',
    '',
    '| field | message |',
    '|---|---|',
    ...rows,
    '',
  ];
}

/** Every field below, in the order of the schema, with its path. */
function fieldsOf(path: string, schema: StructuralSchema): Field[] {
  return everyNode(path, schema).filter((it) => it.path !== path && !it.path.endsWith('[]'));
}

/** The schema itself and all below, elements of lists and maps included. */
function everyNode(path: string, schema: StructuralSchema, required = false): Field[] {
  const element = schema.items ?? schema.additionalProperties;
  return [
    { path, schema, required },
    ...(element === undefined ? [] : everyNode(`${path}[]`, element)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, value]) =>
      everyNode(path === '' ? name : `${path}.${name}`, value, isRequired(schema, name)),
    ),
  ];
}

function isRequired(schema: StructuralSchema, name: string): boolean {
  return schema.required?.includes(name) ?? false;
}

function isDuration(schema: StructuralSchema): boolean {
  return schema['x-kubernetes-validations']?.some((rule) => rule.message === DURATION_HINT) ?? false;
}

function typeOf(schema: StructuralSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema['x-kubernetes-int-or-string']) return 'share';
  if (isDuration(schema)) return 'duration';
  if (schema.format === 'date-time') return 'time';
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}${atMost(schema.maxItems)}`;
  if (schema.additionalProperties !== undefined) return 'map';
  if (schema.type === 'integer' || schema.type === 'number') return `${schema.type}${range(schema)}`;
  return schema.type ?? 'any';
}

const atMost = (limit: number | undefined): string => (limit === undefined ? '' : `, at most ${limit}`);

function range({ minimum, maximum }: StructuralSchema): string {
  if (minimum === undefined) return '';
  return maximum === undefined ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`;
}

function reasonSection(group: ReasonGroup): string[] {
  const title = group.kind === 'Event' ? group.of : `${group.kind}: ${group.of}`;
  return [
    `### ${title}`,
    '',
    group.meaning,
    '',
    '| reason | |',
    '|---|---|',
    ...Object.entries(group.explanation).map(([name, text]) => `| ${code(name)} | ${cell(text)} |`),
    '',
  ];
}

const code = (text: string): string => `\`${cell(text)}\``;
const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);
