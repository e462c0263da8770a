/** What goes wrong between the API server and one operator, while everybody else is served as always. */
import type { Faults, SeenRequest } from '../world/api-server/faults.ts';
import type { ApiFault } from './format.ts';
import { operatorUser } from './operator-user.ts';

const slowMs = 2000;
const lagMs = 5000;
const writes = ['create', 'update', 'patch', 'delete'];

/** What is never done for one of them: by a right that is missing, or a webhook that says no, is down, or does not answer. */
const undone: Partial<Record<ApiFault, { what: string; code: number; afterMs?: number }>> = {
  deniesPods: { what: 'delete pods', code: 403 },
  deniesNodes: { what: 'patch nodes', code: 403 },
  deniesPause: { what: 'get configmaps', code: 403 },
  deniesRecords: { what: 'update nodefences', code: 403 },
  failsPods: { what: 'delete pods', code: 500 },
  failsNodes: { what: 'patch nodes', code: 500 },
  limitsPods: { what: 'delete pods', code: 429 },
  limitsNodes: { what: 'patch nodes', code: 429 },
  hangsPods: { what: 'delete pods', code: 504, afterMs: 30_000 },
  hangsNodes: { what: 'patch nodes', code: 504, afterMs: 30_000 },
};
const messages: Readonly<Record<number, string>> = {
  403: 'an admission webhook denied to',
  429: 'an admission webhook is too busy to',
  500: 'failed calling an admission webhook to',
  504: 'an admission webhook did not answer in time to',
};

export class ApiFaults {
  readonly #faults: Faults;
  readonly #of = new Map<string, ApiFault>();
  /** Every second request is struck: one that is tried again gets through. */
  readonly #struck = new Map<string, boolean>();
  #installed = false;

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  set(operator: number, fault: ApiFault): void {
    this.#install();
    this.#of.set(operatorUser(operator), fault);
    if (fault === 'compacts') this.#faults.compact();
    if (fault === 'compacts' || fault === 'breaks') this.#faults.breakWatches();
    const lags = [...this.#of.values()].includes('lags');
    this.#faults.lag(lags ? (user) => (this.#has(user, 'lags') ? lagMs : 0) : 0);
  }

  #install(): void {
    if (this.#installed) return;
    this.#installed = true;
    const faults = this.#faults;
    const strikes = (fault: ApiFault) => (request: SeenRequest) =>
      this.#has(request.user, fault) && this.#turn(request);
    const onWrite = (fault: ApiFault) => (request: SeenRequest) =>
      writes.includes(request.verb) && strikes(fault)(request);
    faults.inject({ matches: strikes('errors'), code: 500 });
    faults.inject({ matches: strikes('tooMany'), code: 429, retryAfterSeconds: 1 });
    faults.inject({ matches: onWrite('conflicts'), code: 409 });
    for (const one of Object.values(undone)) {
      const matches = (request: SeenRequest): boolean => this.#undone(request) === one;
      faults.inject({ matches, code: one.code, message: `${messages[one.code]} ${one.what}` });
    }
    faults.inject({ matches: onWrite('lost'), code: 500, when: 'after' });
    faults.slow((request) => (this.#has(request.user, 'slow') ? slowMs : (this.#undone(request)?.afterMs ?? 0)));
    faults.duplicateEvents((_event, user) => this.#has(user, 'doubles'));
    faults.dropEvents((_event, user) => this.#has(user, 'drops') && this.#turn({ user }));
  }

  #undone({ user, verb, resource }: SeenRequest): (typeof undone)[ApiFault] {
    const one = undone[this.#of.get(user) ?? 'none'];
    return one?.what === `${verb} ${resource}` ? one : undefined;
  }

  #has(user: string, fault: ApiFault): boolean {
    return this.#of.get(user) === fault;
  }

  #turn({ user }: Pick<SeenRequest, 'user'>): boolean {
    const next = !(this.#struck.get(user) ?? false);
    this.#struck.set(user, next);
    return next;
  }
}
