/** An explanation as people read it, from top to bottom: what is so, why, what comes, what to type. */
import type { HELD } from '../api/reasons.ts';
import { when } from './clock-text.ts';
import type { Explanation, ExplainedEvidence, Leader, Wait } from './explanation.ts';

export function explanationText(it: Explanation): string {
  const isLed = it.operator.leads === 'yes' || it.operator.leads === 'unknown';
  const left = isLed || it.verdict.from === 'look' ? '' : ', AS THE LAST OPERATOR HAS LEFT IT';
  const parts = [
    [it.summary, `YOU: ${it.yours}`, aboutLine(it), ...it.warnings.map((warning) => `BUT ${warning}`)],
    section(`WHY THIS VERDICT${left}`, [
      `${it.verdict.is}, ${it.verdict.reason}: ${it.verdict.explanation}`,
      ...it.verdict.evidence.map((item) => evidenceLine(item, it.at)),
    ]),
    section(
      `WHY NOT YET${left}`,
      it.waits.flatMap((wait) => waitLines(wait, it.at)),
    ),
    section(
      it.trouble === undefined ? 'WHAT WAS RELEASED EARLIER' : 'WHAT WAS RELEASED',
      it.released.map(
        ({ at, basis, by, pods, ended }) =>
          `${when(at, it.at)}: ${pods} ${pods === 1 ? 'pod' : 'pods'} on the basis ${basis}` +
          `${by === undefined ? '' : ` (${by})`}${ended ? ', all gone' : ', not all gone yet'}`,
      ),
    ),
    section(
      'WHAT WOULD HAVE BEEN DONE',
      it.rehearsed.map(({ at, reason, message }) => `${when(at, it.at)}: ${reason}: ${message}`),
    ),
    section('WHAT COMES NEXT', [nextLine(it)]),
    section(
      'WHAT WOULD CHANGE THIS',
      it.changes.map((one) => `- ${one}`),
    ),
    section(
      'WHAT YOU CAN DO NOW',
      it.commands.flatMap(({ to, command }) => [`# ${to}`, command]),
    ),
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
    .join('\n\n')}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

function aboutLine({ at, policy, operator }: Explanation): string {
  const by = policy === undefined ? 'no policy selects it' : `policy ${policy.name}, mode ${policy.mode}`;
  return `${at}; ${by}; ${leaderText(operator)}`;
}

function leaderText(leader: Leader): string {
  switch (leader.leads) {
    case 'yes':
      return `${leader.holder} leads`;
    case 'no':
      return `NOBODY LEADS: ${leader.unable ?? `${leader.holder} was last heard of at ${leader.since}`}, and nothing is done until one does`;
    case 'nobody':
      return 'NOBODY LEADS: no operator was ever seen here, and nothing is done until one is';
    case 'unknown':
      return `whether an operator leads is not known: ${leader.message}`;
  }
}

function evidenceLine({ source, says, detail, at, by, isPast }: ExplainedEvidence, now: string): string {
  const who = by === undefined || detail.startsWith(by) ? source : `${source} by ${by}`;
  // It is on record since when a device says so, and not when it was last asked.
  const since = source === 'Device' ? 'since ' : '';
  return `${since}${when(at, now)}${isPast === true ? ', at that time' : ''}: ${detail} [${who}: ${saysText(source, says)}]`;
}

/** In words that cannot be taken for those about the device itself. */
function saysText(source: ExplainedEvidence['source'], says: string): string {
  if (says === 'Unknown') return 'proves nothing';
  if (source === 'Device') return says === 'Alive' ? 'machine on' : 'machine off';
  return says.toLowerCase();
}

function waitLines({ reason, message, since, until, ends }: Wait, now: string): string[] {
  const from = since === undefined ? '' : `, since ${when(since, now)}`;
  const to = until === undefined ? '' : `, until ${when(until, now)}`;
  return [`${reason}${from}${to}`, `  ${message}`, `  ends when ${ends}`];
}

function nextLine({ at: now, next, trouble }: Explanation): string {
  if (next === undefined) return trouble === undefined ? 'nothing, while it stays as it is' : 'nothing by itself';
  const { what, at, after } = next;
  const clock = at === undefined ? undefined : when(at, now);
  if (after === undefined) return clock === undefined ? what : `${clock}: ${what}`;
  return `once ${overText[after] ?? `${after} is over`}${clock === undefined ? '' : `, at the latest ${clock}`}: ${what}`;
}

/** What a person ends. */
const overText: { readonly [reason: string]: string } = {
  Stopped: 'somebody resumes it',
  AwaitingApproval: 'a person approves this incident',
  Paused: 'its policy acts',
  DryRun: 'its policy acts',
} satisfies { [Reason in keyof typeof HELD.reason]?: string };
