/**
 * For the checkers that judge a command to cut a machine off, from its power or from its storage: who gave it, whether it is
 * the first of its fence, and what a person has asked for.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { CheckContext, Checker, Invariant } from './checker.ts';
import { Reads } from './reads.ts';
import { Requests } from './requests.ts';
import { Troubles } from './trouble.ts';

export interface Cut {
  operator: number;
  node: string;
  /** Nothing was cut in this fence before. */
  isFirst: boolean;
  /** Its machine is on. */
  isOn: boolean;
  /** Undefined: nobody asks. Else why it excuses nothing, or `current`. */
  request: string | undefined;
}

export interface CutJudge extends Checker {
  /** Told before the command itself is, as an event of the wire. */
  onCut: (cut: Cut) => void;
}

export interface AroundCuts {
  troubles: Troubles;
  requests: Requests;
  reads: Reads;
}

export function atCuts(id: string, judgeOf: (context: CheckContext, around: AroundCuts) => CutJudge): Invariant {
  return { id, check: (context) => watched(context, judgeOf) };
}

function watched(context: CheckContext, judgeOf: (context: CheckContext, around: AroundCuts) => CutJudge): Checker {
  const { state, machineOf } = context;
  const troubles = new Troubles(context);
  const requests = new Requests(context, troubles);
  const reads = new Reads();
  const judge = judgeOf(context, { troubles, requests, reads });
  /** Fences in which something was cut. */
  const begun = new Set<string>();
  const cut = ({ node, operator }: Pick<Cut, 'node' | 'operator'>): void => {
    const fence = state.fences.get(nodeFenceName(node));
    const key = `${fence?.metadata.uid} ${fence?.status?.fence?.startedAt}`;
    const isFirst = !begun.has(key);
    begun.add(key);
    const isOn = machineOf(node)?.power === 'on';
    judge.onCut({ operator, node, isFirst, isOn, request: requests.of(node) });
    requests.cut(node);
  };
  return {
    ...judge,
    onStored(change, user) {
      troubles.take(change);
      requests.take(change);
      judge.onStored?.(change, user);
    },
    onWrite(write) {
      requests.written(write);
      judge.onWrite?.(write);
    },
    onMachine(event, machine) {
      if (event.type === 'booting') requests.booted(machine);
      judge.onMachine?.(event, machine);
    },
    onWire(event) {
      reads.take(event);
      if ((event.type === 'device' || event.type === 'port') && event.action === 'off') cut(event);
      judge.onWire?.(event);
    },
  };
}

/** What stands in the record although it excuses nothing, for whoever wonders. */
export function besides({ request }: Cut): string {
  return request === undefined ? '' : `, and the request on record ${request}`;
}
