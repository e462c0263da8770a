/** What is true of the metadata of every object. */
import type { Feature, Kind } from './kind.ts';
import { validateLabelKey, validateLabelValue, validateName } from './names.ts';
import type { ApiObject, Meta } from './object.ts';
import { sameJson } from './object.ts';
import type { FieldErrors } from './status-error.ts';

export function validateMeta(kind: Kind, { metadata }: ApiObject, errors: FieldErrors): void {
  validateName(kind.rules.name ?? 'subdomain', metadata.name, 'metadata.name', errors);
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    validateLabelKey(key, 'metadata.labels', errors);
    validateLabelValue(value, 'metadata.labels', errors);
  }
  for (const key of Object.keys(metadata.annotations ?? {})) {
    validateLabelKey(key.toLowerCase(), 'metadata.annotations', errors);
  }
  for (const [index, finalizer] of (metadata.finalizers ?? []).entries()) {
    const plain = !finalizer.includes('/');
    const known = ['orphan', 'foregroundDeletion', 'kubernetes'].includes(finalizer);
    if (plain && !known && !kind.custom) {
      errors.invalid(
        'metadata.finalizers',
        finalizer,
        `name is neither a standard finalizer name nor is it fully qualified`,
      );
    } else if (!plain) validateLabelKey(finalizer, `metadata.finalizers[${index}]`, errors);
  }
  validateOwners(metadata, errors);
}

function validateOwners({ ownerReferences = [] }: Meta, errors: FieldErrors): void {
  let controllers = 0;
  for (const owner of ownerReferences) {
    for (const key of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (!owner[key]) errors.invalid(`metadata.ownerReferences.${key}`, owner[key] ?? '', `${key} must not be empty`);
    }
    if (owner.controller) controllers += 1;
  }
  if (controllers > 1) {
    const detail = 'Only one reference can have Controller set to true. Found "true" in references for';
    errors.invalid('metadata.ownerReferences', ownerReferences, detail);
  }
}

/** An update cannot touch what identifies an object, nor undo its deletion. Changes `next`. */
export function keepIdentity(next: ApiObject, old: ApiObject): void {
  const { metadata } = next;
  const before = old.metadata;
  metadata.uid ??= before.uid as string;
  metadata.name = before.name;
  if (before.namespace !== undefined) metadata.namespace = before.namespace;
  for (const key of ['creationTimestamp', 'generation', 'generateName'] as const) keep(metadata, before, key);
  if (before.deletionTimestamp !== undefined) {
    keep(metadata, before, 'deletionTimestamp');
    keep(metadata, before, 'deletionGracePeriodSeconds');
  }
}

function keep(next: Meta, old: Meta, key: keyof Meta): void {
  if (old[key] === undefined) delete next[key];
  else next[key] = old[key];
}

export function validateMetaUpdate(next: ApiObject, old: ApiObject, errors: FieldErrors): void {
  const { uid, deletionTimestamp, finalizers = [] } = next.metadata;
  if (uid !== old.metadata.uid) errors.invalid('metadata.uid', uid, 'field is immutable');
  if (deletionTimestamp !== old.metadata.deletionTimestamp) {
    errors.invalid('metadata.deletionTimestamp', deletionTimestamp, 'field is immutable');
  }
  if (old.metadata.deletionTimestamp === undefined) return;
  const added = finalizers.filter((one) => !(old.metadata.finalizers ?? []).includes(one));
  if (added.length > 0) {
    const list = added.map((one) => JSON.stringify(one)).join(', ');
    const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
    errors.forbidden('metadata.finalizers', why);
  }
}

/** Empty maps and lists are as good as absent. */
export function tidyMeta(metadata: Meta): void {
  for (const key of ['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields'] as const) {
    const value = metadata[key];
    if (value === undefined) continue;
    const empty = value === null || (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0);
    if (empty) delete metadata[key];
  }
}

/** Whether the part that the generation counts is another one. */
export function wantsNewGeneration(kind: Kind, next: ApiObject, old: ApiObject): boolean {
  if (!kind.rules.hasGeneration) return false;
  if (!kind.custom) {
    const annotated = kind.rules.countsAnnotations === true;
    return (
      !sameJson(next.spec, old.spec) || (annotated && !sameJson(next.metadata.annotations, old.metadata.annotations))
    );
  }
  const rest = ({ metadata: _metadata, status, ...others }: ApiObject): object =>
    kind.rules.hasStatus ? others : { ...others, status };
  return !sameJson(rest(next), rest(old));
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

export function generatedName(base: string, random: () => number): string {
  let suffix = '';
  for (let count = 0; count < 5; count += 1) suffix += alphabet[Math.floor(random() * alphabet.length)];
  return base.slice(0, 58) + suffix;
}

export function newUid(random: () => number): string {
  let hex = '';
  for (let count = 0; count < 8; count += 1) {
    hex += Math.floor(random() * 0x10000)
      .toString(16)
      .padStart(4, '0');
  }
  const variant = (8 + (Number.parseInt(hex[16] ?? '0', 16) & 3)).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export type Has = (feature: Feature) => boolean;
