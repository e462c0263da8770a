/** Which parameters of a device say which one it is: whoever is more patient with it has not another one. */
import { canonicalKey } from './agent-parameters.ts';

const ofPatience: ReadonlySet<string> = new Set([
  'connect_retries',
  'connect_timeout',
  'delay',
  'ipmitool_timeout',
  'login_timeout',
  'operation_timeout',
  'power_timeout',
  'power_wait',
  'read_retries',
  'read_timeout',
  'retry_on',
  'shell_timeout',
  'stonith_status_sleep',
]);

/** In an order of their own, however they are written. */
export function tellingApart(parameters: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(parameters)
    .filter(([key]) => !ofPatience.has(canonicalKey(key)))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}
