import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** How long to keep asking before giving up. */
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

/**
 * Asks `predicate` until it answers something truthy and returns that answer. A predicate that throws counts as "not
 * yet", so it may consist of assertions; what it last threw becomes the cause of the timeout.
 */
export async function waitFor<T>(
  description: string,
  predicate: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  const { timeoutMs = 30_000, intervalMs = 50 } = options;
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const answer = await predicate();
      if (answer) return answer as Exclude<T, false | null | undefined | 0 | ''>;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() >= deadline) {
      const detail = lastError instanceof Error ? `: ${lastError.message}${causeOf(lastError)}` : '';
      throw new Error(`waited ${timeoutMs} ms in vain for ${description}${detail}`, { cause: lastError });
    }
    await delay(intervalMs);
  }
}

/** `fetch` says only that it failed. */
function causeOf({ cause }: Error): string {
  return cause instanceof Error ? ` (${cause.message})` : '';
}
