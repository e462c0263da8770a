/** What a refused request is answered with: the Status object, word for word where clients read the words. */
import type { JsonRecord } from './object.ts';

export interface Cause {
  reason: string;
  message: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: Cause[];
  retryAfterSeconds?: number;
}

/** Which resource an error is about. */
export interface Subject {
  group: string;
  plural: string;
  kind: string;
}

export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  toStatus(): JsonRecord {
    const status: JsonRecord = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
    };
    if (this.reason !== '') status['reason'] = this.reason;
    if (this.details !== undefined) status['details'] = this.details;
    status['code'] = this.code;
    return status;
  }
}

function qualified({ group, plural }: Subject): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function detailsOf({ group, plural }: Subject, name: string): StatusDetails {
  return group === '' ? { name, kind: plural } : { name, group, kind: plural };
}

export function notFound(subject: Subject, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(subject)} "${name}" not found`, detailsOf(subject, name));
}

export function noSuchPath(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(subject: Subject, name: string): ApiError {
  const message = `${qualified(subject)} "${name}" already exists`;
  return new ApiError(409, 'AlreadyExists', message, detailsOf(subject, name));
}

export function conflict(subject: Subject, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, detailsOf(subject, name));
}

export const modifiedMessage =
  'the object has been modified; please apply your changes to the latest version and try again';

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function forbidden(subject: Subject, name: string, why: string, causes?: Cause[]): ApiError {
  const about = name === '' ? `${qualified(subject)} is forbidden` : `${qualified(subject)} "${name}" is forbidden`;
  const details = detailsOf(subject, name);
  if (causes !== undefined) details.causes = causes;
  return new ApiError(403, 'Forbidden', `${about}: ${why}`, details);
}

export function methodNotAllowed(): ApiError {
  return new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

export function unsupportedMediaType(accepted: string[]): ApiError {
  const list = accepted.join(', ');
  const message = `the body of the request was in an unknown format - accepted media types include: ${list}`;
  return new ApiError(415, 'UnsupportedMediaType', message);
}

export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}

export function versionTooLarge(wanted: number, current: number): ApiError {
  return new ApiError(504, 'Timeout', `Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

export function internalError(message: string, why?: string): ApiError {
  const details = why === undefined ? undefined : { causes: [{ reason: 'InternalError', message: why }] };
  return new ApiError(500, 'InternalError', message, details);
}

/** Collects what is wrong with an object; every validation adds to it, so that a user sees all of it at once. */
export class FieldErrors {
  readonly causes: Cause[] = [];

  get empty(): boolean {
    return this.causes.length === 0;
  }

  required(field: string, detail = ''): void {
    this.#add('FieldValueRequired', field, detail === '' ? 'Required value' : `Required value: ${detail}`);
  }

  invalid(field: string, value: unknown, detail: string): void {
    this.#add('FieldValueInvalid', field, `Invalid value: ${shown(value)}: ${detail}`);
  }

  typeInvalid(field: string, value: unknown, detail: string): void {
    this.#add('FieldValueTypeInvalid', field, `Invalid value: ${shown(value)}: ${detail}`);
  }

  notSupported(field: string, value: unknown, supported: readonly string[]): void {
    const list = supported.map((one) => JSON.stringify(one)).join(', ');
    this.#add('FieldValueNotSupported', field, `Unsupported value: ${shown(value)}: supported values: ${list}`);
  }

  duplicate(field: string, value: unknown, detail?: string): void {
    const more = detail === undefined ? '' : `: ${detail}`;
    this.#add('FieldValueDuplicate', field, `Duplicate value: ${shown(value)}${more}`);
  }

  notFound(field: string, value: unknown): void {
    this.#add('FieldValueNotFound', field, `Not found: ${shown(value)}`);
  }

  forbidden(field: string, detail: string): void {
    this.#add('FieldValueForbidden', field, `Forbidden: ${detail}`);
  }

  tooLong(field: string, max: number): void {
    this.#add('FieldValueTooLong', field, `Too long: may not be more than ${max} bytes`);
  }

  tooMany(field: string, count: number, max: number): void {
    this.#add('FieldValueTooMany', field, `Too many: ${count}: must have at most ${max} items`);
  }

  /** What a CEL rule says; objects and lists are too large to be shown. */
  byRule(reason: string, field: string, { value, message }: { value: unknown; message: string }): void {
    const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    const prefix: Record<string, string> = {
      FieldValueInvalid: scalar ? `Invalid value: ${shown(value)}` : 'Invalid value',
      FieldValueRequired: 'Required value',
      FieldValueForbidden: 'Forbidden',
      FieldValueDuplicate: scalar ? `Duplicate value: ${shown(value)}` : 'Duplicate value',
    };
    this.#add(reason, field, `${prefix[reason] ?? 'Invalid value'}: ${message}`);
  }

  /** Rules are judged only on objects whose shape can be relied upon. */
  get blocking(): boolean {
    const reasons = ['FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid'];
    return this.causes.some(({ reason }) => reasons.includes(reason));
  }

  skippedRules(): void {
    const why =
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
    this.#add('FieldValueInvalid', '<nil>', `Invalid value: null: ${why}`);
  }

  throwIfAny({ group, kind }: Subject, name: string): void {
    if (this.causes.length === 0) return;
    throw invalidObject(group === '' ? kind : `${kind}.${group}`, { name, group, kind }, this.causes);
  }

  #add(reason: string, field: string, message: string): void {
    this.causes.push({ reason, message, field });
  }
}

function invalidObject(
  qualifiedKind: string,
  { name, group, kind }: { name: string; group: string; kind: string },
  causes: Cause[],
): ApiError {
  const texts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))];
  const what = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const details: StatusDetails = { name, ...(group === '' ? {} : { group }), kind, causes };
  return new ApiError(422, 'Invalid', `${qualifiedKind} "${name}" is invalid: ${what}`, details);
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'null';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : JSON.stringify(value);
}
