/**
 * What went wrong at the API server, as a value. Callers decide by `kind`; nothing here is thrown.
 *
 * The one question that a failed write leaves is whether it took place all the same. `mayHaveHappened` answers it, and
 * a caller that ignores it reads "unknown" as "no" (S26).
 */
export type KubeErrorKind =
  /** The object, or the resource itself (its CRD), is not there. */
  | 'notFound'
  | 'alreadyExists'
  /** A precondition did not hold: resourceVersion, UID, or a `test` of a JSON patch. Read again and decide anew. */
  | 'conflict'
  /** The resourceVersion or continue token is older than what the server remembers. */
  | 'gone'
  /** Refused by the schema or by admission: repeating it is useless. */
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  /** Too many requests, or an eviction that a disruption budget forbids. */
  | 'tooManyRequests'
  | 'serverError'
  /** No connection, or it broke. */
  | 'unreachable'
  | 'timeout'
  /** The caller gave up. */
  | 'aborted'
  /** An answer that is not what the protocol promises. */
  | 'malformed';

export interface KubeError {
  kind: KubeErrorKind;
  /** A sentence for people: what was asked, and what the server said. Never holds a credential. */
  message: string;
  mayHaveHappened: boolean;
  status?: number;
  /** The machine-readable `reason` of the server's Status object. */
  reason?: string;
  /** `details.causes[].reason`: tells an eviction held by a budget from an overloaded server. */
  causes?: string[];
  retryAfterMs?: number;
}

export type Result<T> =
  | {
      ok: true;
      value: T;
      /** The server's clock at the time of its answer, from the Date header; absent when it sent none. */
      serverTime?: number;
    }
  | { ok: false; error: KubeError };

export function failure(error: KubeError): { ok: false; error: KubeError } {
  return { ok: false, error };
}

interface StatusBody {
  message?: string;
  reason?: string;
  details?: { retryAfterSeconds?: number; causes?: { reason?: string; message?: string }[] };
}

/** Reads the answer to a request that did not succeed. `what` names the request: `GET /api/v1/nodes/a`. */
export function errorFromAnswer(
  what: string,
  status: number,
  body: string,
  retryAfterHeader: string | undefined,
): KubeError {
  const parsed = parseStatus(body);
  const kind = kindOf(status, parsed.reason);
  const error: KubeError = {
    kind,
    status,
    message: `${what}: ${parsed.message ?? (body.slice(0, 200) || 'no message')} (HTTP ${status})`,
    // A server that failed or timed out half-way may have written first; every other refusal comes before the write.
    mayHaveHappened: kind === 'serverError' || kind === 'timeout',
  };
  if (parsed.reason !== undefined) error.reason = parsed.reason;
  const causes = parsed.details?.causes?.flatMap((cause) => (cause.reason === undefined ? [] : [cause.reason])) ?? [];
  if (causes.length > 0) error.causes = causes;
  const seconds = Number(retryAfterHeader ?? parsed.details?.retryAfterSeconds);
  if (Number.isFinite(seconds) && seconds >= 0) error.retryAfterMs = seconds * 1000;
  return error;
}

/** A watch reports errors inside its stream, as a Status object. */
export function errorFromStatus(what: string, status: StatusBody & { code?: number }): KubeError {
  return errorFromAnswer(what, status.code ?? 500, JSON.stringify(status), undefined);
}

function parseStatus(body: string): StatusBody {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function kindOf(status: number, reason: string | undefined): KubeErrorKind {
  switch (status) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
      return 'invalid';
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'notFound';
    case 409:
      return reason === 'AlreadyExists' ? 'alreadyExists' : 'conflict';
    case 410:
      return 'gone';
    case 429:
      return 'tooManyRequests';
    case 504:
      return 'timeout';
    default:
      return status >= 500 ? 'serverError' : 'malformed';
  }
}
