/**
 * What a fence agent says about itself (`action=metadata`): which parameters it knows, of what kind, and what it can do.
 * The agents print their XML by hand, in one shape and not always well-formed, so it is searched rather than parsed.
 */
export interface AgentParameter {
  name: string;
  type: 'string' | 'boolean' | 'integer' | 'second' | 'select';
  default?: string;
  /** Of a `select`. */
  options: readonly string[];
  isRequired: boolean;
  isSecret: boolean;
}

export interface AgentMetadata {
  agent: string;
  /** By every name that the agent takes: `ip` and `ipaddr` lead to the same one. */
  parameters: ReadonlyMap<string, AgentParameter>;
  actions: ReadonlySet<string>;
}

const types = ['string', 'boolean', 'integer', 'second', 'select'] as const;

/** Answers undefined for what is not an agent's metadata. */
export function parseMetadata(xml: string): AgentMetadata | undefined {
  const agent = /<resource-agent\s+name="([^"]+)"/.exec(xml)?.[1];
  if (agent === undefined) return undefined;
  const parameters = new Map<string, AgentParameter>();
  const aliases = new Map<string, string>();
  for (const [, attributes = '', body = ''] of xml.matchAll(/<parameter\s([^>]*)>([\s\S]*?)<\/parameter>/g)) {
    const name = attribute(attributes, 'name');
    if (name === undefined) continue;
    const older = attribute(attributes, 'obsoletes');
    if (older !== undefined) aliases.set(older, name);
    parameters.set(name, parameter(name, attributes, body));
  }
  for (const [older, newer] of aliases) {
    const canonical = parameters.get(newer);
    if (canonical !== undefined) parameters.set(older, canonical);
  }
  const actions = [...xml.matchAll(/<action\s+name="([^"]+)"/g)].map(([, name = '']) => name);
  if (parameters.size === 0 || actions.length === 0) return undefined;
  return { agent, parameters, actions: new Set(actions) };
}

function parameter(name: string, attributes: string, body: string): AgentParameter {
  const content = /<content\s([^>]*)>/.exec(body)?.[1] ?? '';
  const written = attribute(content, 'type');
  const initial = attribute(content, 'default');
  return {
    name,
    type: types.find((type) => type === written) ?? 'string',
    ...(initial !== undefined && { default: initial }),
    options: [...body.matchAll(/<option\s+value="([^"]*)"/g)].map(([, value = '']) => unescapeXml(value)),
    isRequired: attribute(attributes, 'required') === '1',
    isSecret: isSecretName(name),
  };
}

/** The metadata does not say what is secret. Scripts and files that hold a secret are not secrets themselves. */
export function isSecretName(name: string): boolean {
  if (/_(?:script|file|path|prot|level)$/.test(name)) return false;
  return /passw|secret|community|token|api_?key|access_key|private_key|hexadecimal_kg/i.test(name);
}

function attribute(text: string, name: string): string | undefined {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(text)?.[1];
  return value === undefined ? undefined : unescapeXml(value);
}

function unescapeXml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}
