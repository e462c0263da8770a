/** Which names are allowed, and what the server says to those that are not. */
import type { NameRule } from './kind.ts';
import type { FieldErrors } from './status-error.ts';

const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomainPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const servicePattern = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedNamePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValuePattern = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const serviceMessage =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const namePartMessage =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueMessage =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

export function validateName(rule: NameRule, name: string, field: string, errors: FieldErrors): void {
  switch (rule) {
    case 'label':
      if (name.length > 63) errors.invalid(field, name, 'must be no more than 63 characters');
      if (!labelPattern.test(name)) errors.invalid(field, name, labelMessage);
      return;
    case 'label1035':
      if (name.length > 63) errors.invalid(field, name, 'must be no more than 63 characters');
      if (!servicePattern.test(name)) errors.invalid(field, name, serviceMessage);
      return;
    case 'path':
      if (name === '.' || name === '..') errors.invalid(field, name, `may not be '${name}'`);
      if (/[/%]/.test(name)) errors.invalid(field, name, `may not contain '${name.includes('/') ? '/' : '%'}'`);
      return;
    case 'subdomain':
      if (name.length > 253) errors.invalid(field, name, 'must be no more than 253 characters');
      if (!subdomainPattern.test(name)) errors.invalid(field, name, subdomainMessage);
      return;
    default:
  }
}

export function validateLabelKey(key: string, field: string, errors: FieldErrors): void {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2) errors.invalid(field, key, 'a qualified name must consist of a name and an optional prefix');
  if (parts.length === 2 && !subdomainPattern.test(parts[0] ?? '')) {
    errors.invalid(field, key, `prefix part ${subdomainMessage}`);
  }
  if (name === '') errors.invalid(field, key, 'name part must be non-empty');
  else if (name.length > 63) errors.invalid(field, key, 'name part must be no more than 63 characters');
  if (!qualifiedNamePart.test(name)) errors.invalid(field, key, namePartMessage);
}

export function validateLabelValue(value: string, field: string, errors: FieldErrors): void {
  if (value.length > 63) errors.invalid(field, value, 'must be no more than 63 characters');
  else if (!labelValuePattern.test(value)) errors.invalid(field, value, labelValueMessage);
}
