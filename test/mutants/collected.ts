/** Stands in for `node:test` in a unit test that is run with a mutant: the tests of a file are collected, and run by who asks. */
interface Collected {
  title: string;
  body: (t: object) => unknown;
}

let collected: Collected[] = [];
const context = { diagnostic: () => {} };

export function test(title: string, body: Collected['body']): void {
  collected.push({ title, body });
}

export function describe(_: string, body: () => void): void {
  body();
}

/** The title of the first that fails; undefined: all pass. */
export async function firstFailure(): Promise<string | undefined> {
  const all = collected;
  collected = [];
  for (const { title, body } of all) {
    try {
      await body(context);
    } catch {
      return title;
    }
  }
  return undefined;
}
