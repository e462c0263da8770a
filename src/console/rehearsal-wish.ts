/** What is asked to be rehearsed, as it comes from a page: whatever else comes is refused in a sentence. */
import { parseDuration } from '../api/duration.ts';
import type { Failure } from '../scenario/from-cluster/failure.ts';
import type { Rehearsed } from './picture.ts';
import { REHEARSED } from './picture.ts';

export interface RehearsalWish {
  failure: Failure;
  runFor: string;
  runForMs: number;
  /** Policies that are not in force yet, as they were written; nobody has read them yet. */
  policy?: string;
}

export type ParsedWish = { ok: true; wish: RehearsalWish } | { ok: false; text: string };

export const maxPolicyLength = 32_768;
const maxName = 253;
const maxRunForMs = 24 * 3_600_000;
const usualRunFor = '1h';

export function wishOf(body: Readonly<Record<string, unknown>>): ParsedWish {
  const { what, which, endsAfter, runFor = usualRunFor, policy } = body;
  if (!isRehearsed(what)) return wrong(`what is to fail? There are ${REHEARSED.join(', ')}`);
  if (typeof which !== 'string' || which === '' || which.length > maxName) {
    return wrong('which one is to fail? Write the name of a node, or of a zone');
  }
  const runForMs = typeof runFor === 'string' ? parseDuration(runFor) : undefined;
  if (typeof runFor !== 'string' || runForMs === undefined || runForMs <= 0 || runForMs > maxRunForMs) {
    return wrong('runFor: write how long to look, such as 10m or 1h, and 24h at the most');
  }
  if (endsAfter !== undefined && (typeof endsAfter !== 'string' || parseDuration(endsAfter) === undefined)) {
    return wrong('endsAfter: write after how long it is mended, such as 10m');
  }
  if (policy !== undefined && (typeof policy !== 'string' || policy.length > maxPolicyLength)) {
    return wrong(`policy: write YAML of ${maxPolicyLength} letters at the most`);
  }
  const failure = { ...failureOf(what, which), ...(endsAfter === undefined ? {} : { endsAfter }) };
  return { ok: true, wish: { failure, runFor, runForMs, ...(policy === undefined ? {} : { policy }) } };
}

function failureOf(what: Rehearsed, which: string): Failure {
  const nobody = { nodes: [], zones: [], switches: [], events: [] };
  switch (what) {
    case 'node':
      return { ...nobody, nodes: [which] };
    case 'zone':
      return { ...nobody, zones: [which] };
    case 'switch':
      return { ...nobody, zones: [which], how: 'partition' };
    // It says yes to everything and does nothing, while the machine runs on and cannot be heard.
    case 'bmc':
      return { ...nobody, nodes: [which], how: 'partition', bmc: 'ignores' };
  }
}

function isRehearsed(value: unknown): value is Rehearsed {
  return REHEARSED.some((one) => one === value);
}

function wrong(text: string): ParsedWish {
  return { ok: false, text };
}
