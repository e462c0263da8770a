/**
 * What is wrong with the parameters of a fence agent, found when they are written and not when a node dies (FEN-7). An
 * agent itself ignores keys that it does not know, reads others in ways that surprise, and hands values on to programs:
 * what is let through here is taken literally by it.
 */
import { nearest } from '../api/nearest.ts';
import { isSecretName, type AgentMetadata, type AgentParameter } from './agent-metadata.ts';
import type { DeviceParameters, ParameterProblem } from './device.ts';

const programs = 'the agent would run whatever this names';
const logging = 'the agent would write credentials into its output and the log of the system';

/** Keys that every agent knows and that are never passed on, each with what to do instead. */
const forbidden: readonly [RegExp, string][] = [
  [/^(?:action|option)$/, 'the action is chosen by the fence method: remove it'],
  [/^method$/, 'a machine is always switched off, confirmed and switched on, never cycled: remove it'],
  [/_script$/, `${programs}: put the credential itself into a Secret`],
  [/_path$|^(?:use_)?sudo$|^exec$|^openrc$/, `${programs}: remove it`],
  [/^(?:verbose|verbose_level|debug|debug_file|boto3_debug|logfile)$/, `${logging}: remove it`],
  [/^(?:help|version|usage|quiet|separator)$/, 'it hides what has to be read from the agent: remove it'],
  [/^missing_as_off$/, 'a machine that cannot be found would count as off: remove it'],
  [/^disable_timeout$/, 'the agent would wait without end: set power_timeout instead'],
  [/^(?:proxy|proxyhost|proxyport)$/, 'credentials would go to another machine: remove it'],
];

/** What the agents pass on as one word or quote themselves; any other value with a blank in it becomes several. */
const mayHoldBlanks = ['username', 'plug', 'command_prompt', 'ssh_options', 'managed'];

const hostName = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:]+(?:%[A-Za-z0-9]+)?\]?)(?::\d{1,5})?$/;

/** Options of ssh that choose keys and ciphers; others can run programs or forward ports. */
const sshOption =
  /^(?:-[46]|-o ?(?:StrictHostKeyChecking|UserKnownHostsFile|GlobalKnownHostsFile|HostKeyAlgorithms|KexAlgorithms|Ciphers|MACs|PubkeyAcceptedAlgorithms|PubkeyAcceptedKeyTypes|PubkeyAuthentication|ConnectTimeout|HostKeyAlias|CheckHostIP)=[\w./@,+-]+)$/;

export function checkAgentParameters(metadata: AgentMetadata, parameters: DeviceParameters): ParameterProblem[] {
  const { plain, secret } = parameters;
  const problems: ParameterProblem[] = [];
  const report = (key: string, problem: string | undefined): void => {
    if (problem !== undefined) problems.push({ key, problem });
  };
  const writtenAs = new Map<string, string>();
  for (const [key, value] of [...Object.entries(plain), ...Object.entries(secret)]) {
    const found = metadata.parameters.get(key);
    if (found === undefined) {
      report(key, keyProblem(key) ?? unknownKey(key, metadata));
      continue;
    }
    const other = writtenAs.get(found.name);
    writtenAs.set(found.name, key);
    if (other !== undefined) {
      report(key, other === key ? 'it is written twice' : `it says the same as ${other}: remove one of them`);
    }
    report(key, keyProblem(key) ?? keyProblem(found.name) ?? lineProblem(value) ?? valueProblem(found, value));
  }
  for (const key of Object.keys(plain)) {
    if (isSecretName(key)) report(key, 'it is a credential: put it into a Secret');
  }
  for (const { key, problem } of missing(metadata, writtenAs)) report(key, problem);
  return problems;
}

/** Why a parameter is never passed on, or undefined. */
export function keyProblem(key: string): string | undefined {
  return forbidden.find(([pattern]) => pattern.test(key.replaceAll('-', '_')))?.[1];
}

function unknownKey(key: string, { agent, parameters }: AgentMetadata): string {
  const valid = [...new Set([...parameters.values()].map(({ name }) => name))].filter(
    (name) => keyProblem(name) === undefined,
  );
  return `${agent} does not know it: did you mean ${nearest(key, valid)}?`;
}

/**
 * A parameter is a line of the agent's input, from which it strips blanks and quotes: what would not arrive as it is
 * written, or would become a line of its own, is refused. The value itself is never repeated: it may be a credential.
 */
function lineProblem(value: string): string | undefined {
  if (value === '') return 'it is empty';
  if (/[\r\n]$/.test(value)) return 'it ends with a line break: write it without one, for example with printf';
  // oxlint-disable-next-line no-control-regex -- looked for because they must not be there
  if (/[\u0000-\u001f\u007f]/.test(value)) return 'it holds a control character or a line break';
  if (/^\s|\s$/.test(value)) return 'it begins or ends with a blank, which the agent would cut off';
  if (/^".*"$/.test(value)) return 'it is in quotes, which the agent would cut off: write it without';
  return undefined;
}

function valueProblem(parameter: AgentParameter, value: string): string | undefined {
  const { name, type, options, isSecret } = parameter;
  if (type === 'boolean' && truth(value) === undefined) return 'write 1 or 0';
  if ((type === 'integer' || type === 'second') && !/^\d{1,6}$/.test(value)) return 'write a whole number';
  if (type === 'select' && !options.some((option) => option.toLowerCase() === value.toLowerCase())) {
    return `write one of ${options.join(', ')}`;
  }
  if (name === 'ip' && !hostName.test(value)) return 'write an address or a host name';
  if (name === 'ssh_options') return sshProblem(value);
  if (name === 'plug' && /^-|['"`$;&|<>\\]/.test(value))
    return 'a plug has no characters that mean something to a shell';
  if (!isSecret && !mayHoldBlanks.includes(name) && /[\s'"`$;&|<>\\]/.test(value)) {
    return 'it holds a blank or a character that programs behind the agent would take for something else';
  }
  if (name === 'username' && value.startsWith('-')) return 'a name does not begin with a hyphen';
  return undefined;
}

function sshProblem(value: string): string | undefined {
  const words = value.trim().replaceAll(/-o\s+/g, '-o').split(/\s+/);
  const bad = words.find((word) => !sshOption.test(word));
  if (bad === undefined) return undefined;
  return 'only -4, -6 and options that choose host keys and ciphers are passed on, such as -o StrictHostKeyChecking=yes';
}

function missing({ agent, parameters }: AgentMetadata, given: ReadonlyMap<string, string>): ParameterProblem[] {
  const problems: ParameterProblem[] = [];
  for (const name of new Set([...parameters.values()].map((parameter) => parameter.name))) {
    const isNeeded = parameters.get(name)?.isRequired === true && keyProblem(name) === undefined;
    if (isNeeded && !given.has(name)) problems.push({ key: name, problem: `${agent} needs it: write ${name}=…` });
  }
  if (parameters.has('ip') && !given.has('ip') && !given.has('plug') && !problems.some(({ key }) => key === 'ip')) {
    problems.push({ key: 'ip', problem: `${agent} needs it: write ip=…` });
  }
  if (agent === 'fence_redfish' && !given.has('systems_uri')) {
    const problem =
      'without it the agent takes the last system that the controller lists, which may be another machine: ' +
      'write systems_uri=/redfish/v1/Systems/…';
    problems.push({ key: 'systems_uri', problem });
  }
  return problems;
}

/** How the agents read a switch; undefined for what they would ignore. */
export function truth(value: string): boolean | undefined {
  const lower = value.toLowerCase();
  if (['1', 'yes', 'on', 'true'].includes(lower)) return true;
  return ['0', 'no', 'off', 'false'].includes(lower) ? false : undefined;
}
