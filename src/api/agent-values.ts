/**
 * What the values of a fence agent's parameters may consist of (SEC-1). Agents put values together to command lines, type them
 * into shells and consoles, and make addresses of them, mostly without quoting: what is let through has to mean the same in all
 * of these. Each class lists the signs that it may hold; what is not listed is refused.
 */
export interface ValueClass {
  pattern: RegExp;
  /** What to write instead, for people. */
  write: string;
}

/** One word of a plug; a plug may be several, which the agent takes apart: each has to be harmless alone. */
const part = '[A-Za-z0-9_][A-Za-z0-9_.@#-]*';
const roomyPart = `${part}(?: [A-Za-z0-9_(][A-Za-z0-9_.@#()-]*)*`;

export const valueClasses = {
  host: {
    pattern: /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:]+(?:%[A-Za-z0-9]+)?\]?)(?::\d{1,5})?$/,
    write: 'write an address or a host name',
  },
  number: { pattern: /^\d{1,6}$/, write: 'write a whole number' },
  switch: { pattern: /^(?:1|0|yes|no|on|off|true|false)$/i, write: 'write 1 or 0' },
  /** A choice of a few, or a region. */
  label: { pattern: /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/, write: 'write letters, digits and hyphens only' },
  /** As the models of a device are called. */
  model: { pattern: /^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/, write: 'write letters, digits and single blanks only' },
  name: {
    pattern: /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/,
    write: 'write letters, digits and . _ : - only, beginning with a letter or digit',
  },
  login: {
    pattern: /^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$/,
    write: 'write the name of the user: letters, digits and . _ @ + - only, beginning with a letter or digit',
  },
  /** With the domain before it, where it goes into a request and into no command. */
  domainLogin: {
    pattern: /^[A-Za-z0-9_][A-Za-z0-9_.@+-]*(?:\\[A-Za-z0-9_][A-Za-z0-9_.@+-]*)?$/,
    write: 'write the name of the user, such as admin, admin@internal or DOMAIN\\admin',
  },
  plug: {
    pattern: new RegExp(`^${part}(?:[,:/]${part})*$`),
    write: 'write letters, digits and . _ @ # - only, beginning with a letter or digit; several with a comma between',
  },
  /** Names that people give to outlets and machines, where they are only compared. */
  roomyPlug: {
    pattern: new RegExp(`^${roomyPart}(?:[,:/]${roomyPart})*$`),
    write: 'write letters, digits, single blanks and . _ @ # ( ) - only, each word beginning with a letter or digit',
  },
  /** Part of an address, in which / ? & # would lead elsewhere. */
  segmentPlug: {
    pattern: /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:,[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/,
    write: 'write letters, digits and . _ - only, beginning with a letter or digit',
  },
  separator: { pattern: /^[,:]$/, write: 'write , or :' },
  hexadecimal: { pattern: /^(?:0x)?[0-9A-Fa-f]{1,64}$/, write: 'write a number, decimal or hexadecimal' },
  version: { pattern: /^[A-Za-z0-9]+(?:[./][A-Za-z0-9]+)*$/, write: 'write a version, such as 1.3' },
  /**
   * Of the device, not of the machine on which the agent runs. Anything before the first slash would be another host, and a
   * segment of dots another part of the device.
   */
  redfishPath: {
    pattern: /^\/redfish(?:\/(?!(?:\.|%2[eE]){1,2}(?:\/|$))[A-Za-z0-9_.~%+=:@()-]+)*\/?$/,
    write: 'write a path on the device that begins with /redfish/',
  },
  organisation: {
    pattern: /^\/?org-[A-Za-z0-9_.:-]+(?:\/org-[A-Za-z0-9_.:-]+)*\/?$/,
    write: 'write the organisation as the device tells it, such as /org-one/org-two',
  },
  url: {
    pattern: /^https?:\/\/[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?(?:\/[A-Za-z0-9_.~-]+)*\/?$/,
    write: 'write an address such as https://device.example:5000/v3',
  },
  resource: {
    pattern: /^crn:[A-Za-z0-9:/_.-]*$/,
    write: 'write the name of the resource as the cloud tells it',
  },
  key: { pattern: /^[A-Za-z0-9][A-Za-z0-9._~+/=-]*$/, write: 'write the key as the cloud gave it: it has no blanks' },
  /** Goes to the device quoted, or not through a program at all. */
  credential: { pattern: /^[^\p{C}\p{Zl}\p{Zp}]+$/u, write: 'it holds a control character or a line break' },
  /**
   * Typed into a terminal at which the agent's own telnet or ssh may be listening: that takes ! and ~ at the beginning of a
   * line for an order to itself, and words after a blank for its arguments.
   */
  typedCredential: {
    pattern: /^[^\p{C}\p{Z}!~][^\p{C}\p{Z}]*$/u,
    write:
      'this agent types it into a terminal, where blanks, and ! or ~ at the beginning, mean something: choose another',
  },
  /** Between the quotes of an attribute, as it is. */
  attributeCredential: {
    pattern: /^[^\p{C}\p{Zl}\p{Zp}"<>&]+$/u,
    write: 'this agent puts it into XML as it is: choose one without " < > &',
  },
} as const satisfies Record<string, ValueClass>;

export type ClassName = keyof typeof valueClasses;
