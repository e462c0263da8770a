/**
 * What is checked of every method, whether it is written in ConfigMaps or in a FenceDevice: one reading, so that none of the two
 * is a way around the other (SEC-1).
 */
import type { AllowedParameter } from '../api/agent-parameters.ts';
import { agentParameterProblems } from '../api/agent-parameters.ts';
import { whyNotAllowed } from '../api/agents.ts';
import type { ConfigProblem } from '../api/fence-config.ts';
import type { Forbiddable } from '../api/forbidden.ts';
import { ownOf } from '../api/own.ts';
import { UNCHECKED } from '../api/power.ts';

export interface NodeIdentity {
  name: string;
  labels: Readonly<Record<string, string>>;
}

/** Where something is written. */
export interface Place {
  file: string;
  key: string;
}

/** With where it is written. */
export interface Parameter {
  value: string;
  place: Place;
}

export interface CheckSources {
  /** Which Secrets there are; absent: that is not looked at here. */
  secrets?: ReadonlySet<string>;
  /** Where they are looked for: that of the operator. */
  namespace?: string;
  /** What agents may be given beyond what is harmless for all of them, as the operator was started. */
  allowed?: readonly AllowedParameter[];
  /** What nobody may write, as the operator was started. */
  forbidden?: readonly Forbiddable[];
}

export interface Values {
  /** Of this node, by what stands in the brackets. */
  of: Readonly<Record<string, string>>;
  /** Where another one is to be written. */
  hint: (name: string) => string;
}

export const AGENT_PREFIX = 'agent:';
const placeholder = /\{\{\s*([\w.-]+)\s*\}\}/;
const placeholders = new RegExp(placeholder, 'g');
const objectName = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

export class MethodChecks {
  readonly problems: ConfigProblem[] = [];
  readonly #node: NodeIdentity;
  readonly #values: Values;
  readonly #sources: CheckSources;

  constructor(node: NodeIdentity, values: Values, sources: CheckSources) {
    this.#node = node;
    this.#values = { ...values, of: { ...values.of, node: node.name } };
    this.#sources = sources;
  }

  problem({ file, key }: Place, reason: string): void {
    this.problems.push({ file, key, reason });
  }

  /** With what stands for the node in the place of the brackets. */
  filled(value: string, place: Place): string {
    const { of, hint } = this.#values;
    return value.replaceAll(placeholders, (whole, name: string) => {
      const known = ownOf(of, name);
      if (known !== undefined) return known;
      this.problem(place, `{{${name}}} has no value for node ${this.#node.name}: ${hint(name)}`);
      return whole;
    });
  }

  isAllowed(agent: string, place: Place): boolean {
    const why = whyNotAllowed(agent);
    if (why !== undefined) this.problem(place, `it is not run: ${why}`);
    return why === undefined;
  }

  /** Filled already. */
  identity(identity: string | undefined, place: Place): void {
    if (identity !== UNCHECKED || this.#sources.forbidden?.includes('UncheckedDevices') !== true) return;
    this.problem(place, `it is ${UNCHECKED}, and this operator was told to forbid UncheckedDevices: name the machine`);
  }

  /** Names of Secrets, filled already. */
  secrets(names: readonly string[], place: Place): void {
    for (const secret of names) {
      if (!objectName.test(secret)) {
        if (!placeholder.test(secret)) this.problem(place, 'write names of Secrets: lower case, digits, - and .');
      } else if (this.#sources.secrets?.has(secret) === false) {
        const { namespace } = this.#sources;
        const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
        this.problem(place, `there is no Secret ${secret}${where}: create it, or correct the name`);
      }
    }
  }

  /** What is in a Secret is checked when the device is used; here it is not known. */
  parameters(driver: string, written: ReadonlyMap<string, Parameter>): Record<string, string> {
    const parameters = Object.fromEntries([...written].map(([key, { value }]) => [key, value]));
    if (!driver.startsWith(AGENT_PREFIX)) return parameters;
    const agent = driver.slice(AGENT_PREFIX.length);
    for (const { key, problem } of agentParameterProblems(agent, parameters, this.#sources.allowed ?? [])) {
      const found = written.get(key);
      // A placeholder that nobody has filled has been told already.
      if (found !== undefined && !placeholder.test(found.value)) this.problem(found.place, problem);
    }
    return parameters;
  }
}
