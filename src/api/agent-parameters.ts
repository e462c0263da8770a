/**
 * What a fence agent may be given: one table of parameters, each with what it may hold (SEC-1). A parameter that is not in it is
 * not passed on. It is asked when a configuration is read, and again when an agent is about to be started, so that no object of
 * the cluster, whoever writes it and however it gets there, names a program, an option or a file.
 */
import type { ClassName } from './agent-values.ts';
import { valueClasses } from './agent-values.ts';
import { consoleAgents, snmpAgents } from './agents.ts';
import { nearest } from './nearest.ts';

/** What the operator was started with: this agent may be given this parameter, with this value where one is named. */
export interface AllowedParameter {
  agent: string;
  key: string;
  value?: string;
}

export interface ParameterFinding {
  key: string;
  /** What is wrong and what to write instead. Never repeats the value: it may be a credential. */
  problem: string;
}

const programs = 'the agent would run whatever this names';
const logging = 'the agent would write credentials into its output and the log of the system';

/** Never passed on, each with what to do instead. */
const never: readonly [RegExp, string][] = [
  [/^(?:action|option)$/, 'the action is chosen by the fence method: remove it'],
  [/^method$/, 'a machine is always switched off, confirmed and switched on, never cycled: remove it'],
  [/_script$/, `${programs}: put the credential itself into a Secret`],
  [/^(?:exec|openrc|runonfail|runonwarn)$/, `${programs}: remove it`],
  [/^(?:verbose|verbose_level|debug|debug_file|boto3_debug|logfile)$/, `${logging}: remove it`],
  [/^(?:help|version|usage|quiet|separator)$/, 'it hides what has to be read from the agent: remove it'],
  [/^missing_as_off$/, 'a machine that cannot be found would count as off: remove it'],
  [/^disable_timeout$/, 'the agent would wait without end: set power_timeout instead'],
  [/^(?:proxy|proxyhost|proxyport)$/, 'credentials would go to another machine: remove it'],
];

const given: Readonly<Record<string, ClassName>> = {
  ...all('host', ['ip']),
  ...all('number', ['ipport', 'delay', 'login_timeout', 'power_timeout', 'power_wait', 'shell_timeout', 'retry_on']),
  ...all('number', ['stonith_status_sleep', 'ipmitool_timeout', 'cipher', 'limit', 'connect_retries', 'read_retries']),
  ...all('number', ['connect_timeout', 'operation_timeout', 'read_timeout']),
  ...all('switch', ['inet4_only', 'inet6_only', 'ssh', 'port_as_ip', 'ssl', 'ssl_insecure', 'ssl_secure', 'notls']),
  ...all('switch', ['tls1.0', 'lanplus', 'disable_http_filter', 'disable_ssl', 'pve_node_auto', 'load_on_activate']),
  ...all('label', ['snmp_version', 'snmp_auth_prot', 'snmp_priv_prot', 'snmp_sec_level', 'auth', 'privlvl', 'region']),
  ...all('label', ['switch', 'api_type', 'vmtype', 'namespace', 'host_os', 'hmc_version']),
  ...all('model', ['drac_version']),
  ...all('name', ['ram_role', 'instance', 'tenant_name', 'pve_node', 'nodename', 'uuid', 'page']),
  ...all('hexadecimal', ['target', 'hexadecimal_kg']),
  ...all('version', ['api_version', 'apiversion', 'ribcl_version']),
  ...all('redfishPath', ['redfish_uri', 'systems_uri']),
  ...all('organisation', ['suborg']),
  ...all('url', ['auth_url', 'session_url']),
  ...all('resource', ['crn']),
  ...all('key', ['apikey', 'access_key', 'secret_key', 'token']),
  ...all('credential', ['password', 'community', 'snmp_priv_passwd']),
  ...all('login', ['username']),
  ...all('plug', ['plug']),
  ...all('separator', ['plug_separator']),
};

/**
 * Names a program, a file or options, or goes into a shell: passed on only as far as the operator was started for it. Where
 * there is a class, any value of it; where there is none, no value but the one that was named at the start.
 */
const byLeave: readonly [RegExp, ClassName | undefined, string][] = [
  [/_path$/, undefined, programs],
  [/^use_sudo$/, 'switch', 'the agent would run its programs as another user'],
  [/^(?:identity_file|kubeconfig|token_file|cookie_file|tls(?:cacert|cert|key))$/, undefined, 'it names a file'],
  [/^ssh_options$/, undefined, 'it holds options for ssh, which can run programs'],
  [/^command_prompt$/, undefined, 'the agent takes it for a pattern, and believes what it matches'],
  [/^managed$/, 'name', 'it goes into the shell of the management console'],
  [/^use_cookies$/, 'switch', 'the agent would keep a session in a file'],
];

const aliases: Readonly<Record<string, string>> = {
  ipaddr: 'ip',
  login: 'username',
  passwd: 'password',
  passwd_script: 'password_script',
  port: 'plug',
  cmd_prompt: 'command_prompt',
  secure: 'ssh',
  sudo: 'use_sudo',
  hidden_page: 'page',
  ribcl: 'ribcl_version',
  node_name: 'nodename',
};

/** Where an agent handles a value otherwise than most do. */
const otherwise: readonly [readonly string[], Readonly<Record<string, ClassName>>][] = [
  [[...snmpAgents, 'fence_aliyun', 'fence_ibmz', 'fence_xenapi'], { plug: 'roomyPlug' }],
  [
    [
      'fence_cisco_ucs',
      'fence_docker',
      'fence_ecloud',
      'fence_eps',
      'fence_ibm_powervs',
      'fence_ibm_vpc',
      'fence_kubevirt',
      'fence_pve',
      'fence_rhevm',
      'fence_vmware_vcloud',
    ],
    { plug: 'segmentPlug' },
  ],
  [consoleAgents, { password: 'typedCredential' }],
  [['fence_cisco_ucs'], { password: 'attributeCredential', username: 'domainLogin' }],
  [
    ['fence_ibmz', 'fence_pve', 'fence_redfish', 'fence_rhevm', 'fence_vmware_vcloud', 'fence_xenapi'],
    { username: 'domainLogin' },
  ],
];

function all(name: ClassName, keys: readonly string[]): Record<string, ClassName> {
  return Object.fromEntries(keys.map((key) => [key, name]));
}

/** One name for what an agent knows by several. */
export function canonicalKey(key: string): string {
  const name = key.replaceAll('-', '_');
  return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? name;
}

/** What is wrong with what an agent is to be given; nothing: each of it means to the agent what it says, and no more. */
export function agentParameterProblems(
  agent: string,
  values: Readonly<Record<string, string>>,
  allowed: readonly AllowedParameter[],
): ParameterFinding[] {
  const isAddress = Object.entries(values).some(
    ([key, value]) => canonicalKey(key) === 'port_as_ip' && !/^(?:0|no|off|false)$/i.test(value),
  );
  const seen = new Map<string, string>();
  return Object.entries(values).flatMap(([key, value]) => {
    const name = canonicalKey(key);
    const other = seen.get(name);
    seen.set(name, key);
    if (other !== undefined) return { key, problem: `it says the same as ${other}: remove one of them` };
    const ours = allowed.filter((one) => one.agent === agent && canonicalKey(one.key) === name);
    const problem =
      lineProblem(value) ??
      (name === 'plug' && isAddress ? classProblem('host', value) : valueProblem(agent, name, value, ours));
    return problem === undefined ? [] : { key, problem };
  });
}

/** Why a parameter is never passed on, or undefined. */
export function whyNeverGiven(key: string): string | undefined {
  const name = canonicalKey(key);
  return never.find(([pattern]) => pattern.test(name))?.[1];
}

/** Why a parameter is not passed on, whatever its value, by an operator that was not started for it; or undefined. */
export function keyProblem(key: string, agent?: string): string | undefined {
  const name = canonicalKey(key);
  const forbidden = whyNeverGiven(key);
  if (forbidden !== undefined) return forbidden;
  const leave = byLeave.find(([pattern]) => pattern.test(name));
  if (leave === undefined) return undefined;
  const [, needed, why] = leave;
  const flag = `--allow-agent-parameters ${agent ?? 'AGENT'}:${key}${needed === undefined ? '=VALUE' : ''}`;
  return `${why}: remove it, or have the operator started with ${flag}`;
}

/** Why no operator is started with this, or undefined. */
export function whyNotAllowable({ key, value }: AllowedParameter): string | undefined {
  const name = canonicalKey(key);
  const leave = byLeave.find(([pattern]) => pattern.test(name));
  if (leave === undefined) return keyProblem(key) ?? 'it needs no leave, or there is no such parameter';
  const [, needed, why] = leave;
  if (value !== undefined) return lineProblem(value);
  return needed === undefined ? `${why}: name the value, as in ${key}=VALUE` : undefined;
}

function valueProblem(
  agent: string,
  name: string,
  value: string,
  allowed: readonly AllowedParameter[],
): string | undefined {
  const leave = byLeave.find(([pattern]) => pattern.test(name));
  if (leave !== undefined) {
    if (allowed.some((one) => one.value === value)) return undefined;
    const [, className] = leave;
    const isOpen = className !== undefined && allowed.some((one) => one.value === undefined);
    return isOpen ? classProblem(className, value) : keyProblem(name, agent);
  }
  const special = otherwise.find(([agents, keys]) => agents.includes(agent) && Object.hasOwn(keys, name))?.[1][name];
  const className = special ?? (Object.hasOwn(given, name) ? given[name] : undefined);
  if (className !== undefined) return classProblem(className, value);
  return (
    keyProblem(name) ?? `it is no parameter that agents are given: did you mean ${nearest(name, Object.keys(given))}?`
  );
}

function classProblem(name: ClassName, value: string): string | undefined {
  const { pattern, write } = valueClasses[name];
  return pattern.test(value) ? undefined : write;
}

/**
 * A parameter is a line of the agent's input, from which it strips blanks and quotes: what would not arrive as it is
 * written, or would become a line of its own, is refused.
 */
function lineProblem(value: string): string | undefined {
  if (value === '') return 'it is empty';
  if (/[\r\n]$/.test(value)) return 'it ends with a line break: write it without one, for example with printf';
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(value)) return 'it holds a control character or a line break';
  if (/^\s|\s$/.test(value)) return 'it begins or ends with a blank, which the agent would cut off';
  if (/^".*"$/.test(value)) return 'it is in quotes, which the agent would cut off: write it without';
  return undefined;
}
