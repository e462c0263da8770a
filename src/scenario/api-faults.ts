/** What goes wrong between the API server and one operator, while everybody else is served as always. */
import type { Faults, SeenRequest } from '../world/api-server/faults.ts';
import type { ApiFault } from './format.ts';
import { operatorUser } from './operator-user.ts';

const slowMs = 2000;
const lagMs = 5000;
const writes = ['create', 'update', 'patch', 'delete'];

/** What one of them is not allowed, by a webhook or a right that is missing. */
const denied: Partial<Record<ApiFault, string>> = {
  deniesPods: 'delete pods',
  deniesNodes: 'patch nodes',
  deniesPause: 'get configmaps',
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
    for (const [fault, what] of Object.entries(denied)) {
      const matches = ({ user, verb, resource }: SeenRequest): boolean =>
        `${verb} ${resource}` === what && this.#of.get(user) === fault;
      faults.inject({ matches, code: 403, message: `an admission webhook denied to ${what}` });
    }
    faults.inject({ matches: onWrite('lost'), code: 500, when: 'after' });
    faults.slow(({ user }) => (this.#has(user, 'slow') ? slowMs : 0));
    faults.duplicateEvents((_event, user) => this.#has(user, 'doubles'));
    faults.dropEvents((_event, user) => this.#has(user, 'drops') && this.#turn({ user }));
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
