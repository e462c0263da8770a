/** What fence agents may be given and whom they trust: said by whoever starts the program, and by no object of the cluster. */
import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { AllowedParameter } from '../api/agent-parameters.ts';
import { whyNotAllowable } from '../api/agent-parameters.ts';
import { whyNotAllowed } from '../api/agents.ts';
import type { AgentSettings } from '../devices/agent.ts';
import { defaultAgentSettings } from '../devices/agent.ts';

export interface AgentFlags {
  allowAgentParameters: readonly AllowedParameter[];
  agentTrustFile?: string;
}

export function addAgentFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--allow-agent-parameters <agent:key[=value]>',
        'let ConfigMaps give this agent a parameter that names a program, a file or options; may be repeated',
      )
        .argParser(withParameter)
        .default([], 'none'),
    )
    .addOption(
      new Option(
        '--agent-trust-file <file>',
        "certificates of the authorities that fence agents and Redfish trust, in PEM; default: the system's",
      ).argParser(trustFile),
    );
}

export function agentSettings({ allowAgentParameters, agentTrustFile }: AgentFlags): AgentSettings {
  const trust = agentTrustFile === undefined ? {} : { trustFile: agentTrustFile };
  return { ...defaultAgentSettings, allowed: allowAgentParameters, ...trust };
}

function withParameter(text: string, before: readonly AllowedParameter[]): AllowedParameter[] {
  const [, agent = '', key = '', value] = /^([^:=]+):([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (key === '') throw new InvalidArgumentError('write AGENT:PARAMETER or AGENT:PARAMETER=VALUE.');
  const parameter = { agent, key, ...(value !== undefined && { value }) };
  const why = whyNotAllowed(agent) ?? whyNotAllowable(parameter);
  if (why !== undefined) throw new InvalidArgumentError(`${agent}:${key}: ${why}.`);
  return [...before, parameter];
}

/** Found out now: without it, every device would look as if it could not be trusted. */
function trustFile(file: string): string {
  try {
    void new X509Certificate(readFileSync(file));
    return file;
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
