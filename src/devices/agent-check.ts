/**
 * What is wrong with the parameters of a fence agent, found when they are written and not when a node dies (FEN-7). What each
 * may hold is the table's business (SEC-1); here it is compared with what the agent says of itself: it ignores keys that it does
 * not know, and reads others in ways that surprise.
 */
import type { AllowedParameter } from '../api/agent-parameters.ts';
import { agentParameterProblems, keyProblem, whyNeverGiven } from '../api/agent-parameters.ts';
import { nearest } from '../api/nearest.ts';
import { isSecretName, type AgentMetadata, type AgentParameter } from './agent-metadata.ts';
import type { DeviceParameters, ParameterProblem } from './device.ts';

export function checkAgentParameters(
  metadata: AgentMetadata,
  { plain, secret }: DeviceParameters,
  allowed: readonly AllowedParameter[],
): ParameterProblem[] {
  const problems: ParameterProblem[] = [];
  const given = new Set<string>();
  for (const [key, value] of [...Object.entries(plain), ...Object.entries(secret)]) {
    const found = metadata.parameters.get(key);
    if (found !== undefined) given.add(found.name);
    const problem = found === undefined ? (keyProblem(key) ?? unknownKey(key, metadata)) : kindProblem(found, value);
    if (problem !== undefined) problems.push({ key, problem });
  }
  for (const key of Object.keys(plain)) {
    const isTwice = Object.hasOwn(secret, key);
    if (isTwice && isSecretName(key))
      problems.push({ key, problem: 'it is a credential, and in the Secret as well: remove it here' });
    else if (isTwice) problems.push({ key, problem: 'it is in the Secret as well: remove one of them' });
    else if (isSecretName(key)) problems.push({ key, problem: 'it is a credential: put it into a Secret' });
  }
  const told = new Set(problems.map(({ key }) => key));
  const unfit = agentParameterProblems(metadata.agent, { ...plain, ...secret }, allowed);
  problems.push(...unfit.filter(({ key }) => !told.has(key)), ...missing(metadata, given));
  return problems;
}

function unknownKey(key: string, { agent, parameters }: AgentMetadata): string {
  const valid = [...new Set([...parameters.values()].map(({ name }) => name))].filter(
    (name) => keyProblem(name) === undefined,
  );
  return `${agent} does not know it: did you mean ${nearest(key, valid)}?`;
}

function kindProblem({ type, options }: AgentParameter, value: string): string | undefined {
  if (type === 'boolean' && truth(value) === undefined) return 'write 1 or 0';
  if ((type === 'integer' || type === 'second') && !/^\d{1,6}$/.test(value)) return 'write a whole number';
  if (type === 'select' && !options.some((option) => option.toLowerCase() === value.toLowerCase())) {
    return `write one of ${options.join(', ')}`;
  }
  return undefined;
}

function missing({ agent, parameters }: AgentMetadata, given: ReadonlySet<string>): ParameterProblem[] {
  const problems: ParameterProblem[] = [];
  for (const name of new Set([...parameters.values()].map((parameter) => parameter.name))) {
    const isNeeded = parameters.get(name)?.isRequired === true && whyNeverGiven(name) === undefined;
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
