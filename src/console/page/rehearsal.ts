/** Has something rehearsed, and tells what comes of it while it comes; and what the page asks for, as it stands in the address. */
import type { NodePicture, RehearsalAsked, RehearsalNews, RehearsePage } from '../picture.ts';
import { REHEARSED } from '../picture.ts';

export type Ask = Readonly<Record<string, string>>;

export const lookFor = ['5m', '20m', '1h', '6h'] as const;
export const endsAfter = ['', '1m', '5m', '10m', '30m'] as const;
const usualLook = '20m';

/** What the address says, and what it means where it says nothing. */
export interface Form {
  what: RehearsalAsked['what'];
  which: string;
  ends: string;
  look: string;
  /** With which policy it begins: `in.NAME` of those in force, `ex.NAME` of the reference. */
  from: string;
  /** The policy as it was found there. */
  base: string;
  /** As somebody has changed it. */
  text: string;
}

export function formOf(ask: Ask, page: RehearsePage, nodes: readonly NodePicture[]): Form {
  const what = REHEARSED.find((one) => one === ask['what']) ?? 'node';
  const names = choices(what, nodes);
  const which = ask['which'] ?? names[0] ?? '';
  const ruling = rulingPolicy(what, which, nodes) ?? page.inForce[0]?.name;
  const usual = ruling === undefined ? `ex.${page.examples[0]?.name ?? ''}` : `in.${ruling}`;
  const from = ask['policy'] ?? usual;
  const base = baseOf(from, page, ruling);
  const look = lookFor.find((one) => one === ask['look']) ?? usualLook;
  const ends = endsAfter.find((one) => one === ask['ends']) ?? '';
  return { what, which, ends, look, from, base, text: ask['text'] ?? base };
}

/** In the address there is only what is not as usual. */
export function askOf({ what, which, ends, look, from, base, text }: Form): Ask {
  return {
    what,
    which,
    policy: from,
    ...(ends === '' ? {} : { ends }),
    ...(look === usualLook ? {} : { look }),
    ...(text === base ? {} : { text }),
  };
}

/** A policy that is in force as it is has nothing to be compared with. */
export function askedOf({ what, which, ends, look, from, base, text }: Form): RehearsalAsked {
  const isInForce = from.startsWith('in.') && text === base;
  return {
    what,
    which,
    runFor: look,
    ...(ends === '' ? {} : { endsAfter: ends }),
    ...(isInForce ? {} : { policy: text }),
  };
}

/** Names of nodes, or of zones. */
export function choices(what: Form['what'], nodes: readonly NodePicture[]): string[] {
  const all = what === 'zone' || what === 'switch' ? nodes.map(({ zone }) => zone) : nodes.map(({ name }) => name);
  return [...new Set(all)]
    .filter((name) => name !== '')
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The one in force for what fails. */
function rulingPolicy(what: Form['what'], which: string, nodes: readonly NodePicture[]): string | undefined {
  const isOfZone = what === 'zone' || what === 'switch';
  return nodes.find(({ name, zone }) => (isOfZone ? zone : name) === which)?.policy;
}

/** One of the reference takes the name of the one in force, so that it takes its place, too. */
function baseOf(from: string, { inForce, examples }: RehearsePage, ruling: string | undefined): string {
  const name = from.slice(3);
  if (from.startsWith('in.')) return inForce.find((one) => one.name === name)?.text ?? '';
  const text = examples.find((one) => one.name === name)?.text ?? '';
  return ruling === undefined ? text : text.replace(`metadata: {name: ${name}}`, `metadata: {name: ${ruling}}`);
}

/** What comes to pass in a sentence. */
export function failureWords({ what, which, ends }: Pick<Form, 'what' | 'which' | 'ends'>, count: number): string {
  const some = count === 1 ? 'its only node' : `all ${count} nodes`;
  const then = ends === '' ? '' : `; after ${ends} it is mended`;
  switch (what) {
    case 'node':
      return `${which} loses its power${then}.`;
    case 'zone':
      return `Zone ${which} loses its power, ${some} of it at once${then}.`;
    case 'switch':
      return `The switch of zone ${which} breaks: ${some} of it run on, and nobody hears of them${then}.`;
    case 'bmc':
      return `${which} runs on and nobody hears of it; its BMC says yes to every command, and does nothing${then}.`;
  }
}

/** The same on the command line. */
export function commandOf({ what, which, ends, look, from, base, text }: Form): string {
  const target = what === 'node' || what === 'bmc' ? '--node' : '--zone';
  const how = what === 'switch' ? ' --how partition' : what === 'bmc' ? ' --how partition --bmc ignores' : '';
  const policy = from.startsWith('in.') && text === base ? '' : ' --policy new-policy.yaml';
  const mended = ends === '' ? '' : ` --ends-after ${ends}`;
  return `fenceline simulate --from-cluster ${target} ${which}${how}${mended} --run-for ${look}${policy}`;
}

const ours = { 'x-fenceline-console': '1', 'content-type': 'application/json' };

/** Resolves when there is nothing more to come; the last that is told is an end. */
export async function rehearse(
  asked: RehearsalAsked,
  tell: (news: RehearsalNews) => void,
  signal: AbortSignal,
): Promise<void> {
  let last: RehearsalNews | undefined;
  const say = (news: RehearsalNews): void => tell((last = news));
  try {
    const answer = await fetch('rehearsals', { method: 'POST', headers: ours, body: JSON.stringify(asked), signal });
    if (!answer.ok || answer.body === null) return say({ state: 'failed', text: (await answer.text()).trim() });
    let rest = '';
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + read.value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) say(JSON.parse(line) as RehearsalNews);
    }
  } catch {
    // Said below, unless whoever asked has left.
  }
  const isEnd = last !== undefined && ['done', 'wrong', 'failed'].includes(last.state);
  if (!isEnd && !signal.aborted) {
    say({ state: 'failed', text: 'the connection was lost before the end; nothing was written to the cluster' });
  }
}
