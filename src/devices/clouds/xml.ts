/**
 * Reads the XML of EC2 and vSphere into a tree: elements by their local names, their attributes and their text. Not a
 * general parser; both services send plain documents without entities of their own, and one that has some is refused,
 * so that a document cannot grow while it is read.
 */
export interface XmlElement {
  /** Without the prefix of its name space. */
  name: string;
  /** As they are written, prefixes included. */
  attributes: Readonly<Record<string, string>>;
  children: readonly XmlElement[];
  text: string;
}

const token =
  /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<(!)|<\/\s*([\w:.-]+)\s*>|<([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|([^<]+)|</g;

/** Undefined for what is not a whole document. */
export function parseXml(document: string): XmlElement | undefined {
  const root: Open = { name: '', attributes: {}, children: [], text: '' };
  const open: Open[] = [root];
  for (const [, cdata, declaration, end, begin, attributes = '', closed, text] of document.matchAll(token)) {
    const current = open.at(-1) ?? root;
    if (declaration !== undefined) return undefined;
    if (cdata !== undefined) current.text += cdata;
    else if (text !== undefined) current.text += unescapeXml(text);
    else if (begin !== undefined) {
      const element: Open = { name: localName(begin), attributes: attributesOf(attributes), children: [], text: '' };
      current.children.push(element);
      if (closed !== '/') open.push(element);
    } else if (end !== undefined && (open.pop() ?? root).name !== localName(end)) return undefined;
  }
  return open.length === 1 && root.children.length === 1 ? root.children[0] : undefined;
}

interface Open extends XmlElement {
  children: XmlElement[];
  text: string;
}

/** The elements at the end of a path, all branches followed. */
export function elementsAt(from: XmlElement | undefined, ...path: readonly string[]): readonly XmlElement[] {
  return path.reduce<readonly XmlElement[]>(
    (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
    from === undefined ? [] : [from],
  );
}

/** The text at the end of a path, of the first element there. */
export function textAt(from: XmlElement | undefined, ...path: readonly string[]): string | undefined {
  return elementsAt(from, ...path)[0]?.text.trim();
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function attributesOf(text: string): Record<string, string> {
  const found = text.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g);
  return Object.fromEntries([...found].map(([, name = '', one, other]) => [name, unescapeXml(one ?? other ?? '')]));
}

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescapeXml(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w+));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return named[String(name)] ?? whole;
    const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
    return code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
  });
}
