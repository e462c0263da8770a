/** What is kept of a FenceDevice that somebody has written. */
import type { WrittenDevice } from '../api/fence-config.ts';
import type { FenceDeviceSpec } from '../api/fence-device.ts';
import { choiceOf, NOBODY } from '../api/node-choice.ts';
import type { KubeObject } from '../kube/client.ts';

/** Undefined: the operator has made it, to keep what is known of a device that is written elsewhere. */
export function projectDevice(object: KubeObject): WrittenDevice | undefined {
  const { spec = {} } = object as KubeObject & { spec?: FenceDeviceSpec };
  const { agent, driver, node, selector, identity } = spec;
  if (agent === undefined && driver === undefined) return undefined;
  const chosen = selector === undefined ? undefined : (choiceOf({ selector }, {})?.selector ?? NOBODY);
  return {
    name: object.metadata.name,
    spec: {
      ...(node === undefined ? {} : { node }),
      ...(chosen === undefined ? {} : { selector: chosen }),
      driver: agent === undefined ? `driver:${driver}` : `agent:${agent}`,
      parameters: spec.parameters ?? {},
      values: Object.fromEntries((spec.values ?? []).map((one) => [one.node, one.values])),
      secrets: spec.secrets ?? [],
      level: spec.level ?? 1,
      cuts: spec.cuts ?? 'Power',
      storage: spec.storage ?? [],
      ...(identity === undefined ? {} : { identity }),
    },
  };
}
