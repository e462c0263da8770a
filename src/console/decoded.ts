/** A part of an address, as the page and its server read it: what is not an encoding stands for itself, and is then nobody's name. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
