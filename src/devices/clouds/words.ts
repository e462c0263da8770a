/** What is said of a cloud to people, with the credentials taken out; and the turn of one question, whose tokens are such too. */
import type { DeviceAnswer, DeviceParameters, DeviceWorld } from '../device.ts';
import { redactor } from '../redact.ts';
import type { Cloud, CloudSettings } from './interface.ts';
import { secretsIn, valuesOf, type Values } from './parameters.ts';
import { Failure, Turn } from './turn.ts';

const MESSAGE_LIMIT = 500;

export interface Asking {
  settings: CloudSettings;
  value: Values;
  world: DeviceWorld;
}

export class Words {
  readonly #secrets: Set<string>;

  constructor(cloud: Cloud, parameters: DeviceParameters) {
    const hidden = cloud.hiddenIn?.(valuesOf(parameters)) ?? [];
    this.#secrets = new Set([...secretsIn(cloud, parameters), ...hidden]);
  }

  hide(secret: string): void {
    this.#secrets.add(secret);
  }

  /** Redacted before it is cut: half a credential would not be found any more. */
  redacted(message: string): string {
    const text = redactor([...this.#secrets])(message);
    return text.length <= MESSAGE_LIMIT ? text : `${text.slice(0, MESSAGE_LIMIT)}…`;
  }

  answerFor(device: string, error: unknown): DeviceAnswer {
    const message = `${device}: ${this.redacted(error instanceof Error ? error.message : String(error))}`;
    return { kind: error instanceof Failure ? error.kind : 'unknown', message };
  }
}

export function turnFor({ settings, value, world }: Asking, words: Words, signal: AbortSignal): Turn {
  const ca = value('ca');
  return new Turn({
    world,
    signal,
    deadline: world.monotonic() + settings.timeoutMs,
    callTimeoutMs: settings.callTimeoutMs,
    // In a ConfigMap a value is one line.
    ...(ca !== undefined && { way: { ca: ca.replaceAll('\\n', '\n') } }),
    hide: (secret) => words.hide(secret),
  });
}
