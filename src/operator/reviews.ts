/**
 * Who may read metrics, as the API server says: whose token it is (TokenReview), and whether they may `get` the path
 * (SubjectAccessReview). Where it does not say, nobody may. Answers are kept for half a minute, by a hash of the token; what
 * strangers can have asked is bounded, and a token that is refused takes no room from one that is not.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { PerSecond } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { subjectAccessReviews, tokenReviews } from '../kube/resources.ts';

export type Verdict = 'allowed' | 'forbidden' | 'unauthenticated' | 'unknown';

export interface ReviewOptions {
  client: Pick<KubeClient, 'create'>;
  clock: Clock;
  /** Told once a minute at the most. */
  onProblem: (error: KubeError) => void;
}

interface User {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}
interface TokenReview extends KubeObject {
  spec: { token: string };
  status?: { authenticated?: boolean; user?: User };
}
interface SubjectAccessReview extends KubeObject {
  spec: object;
  status?: { allowed?: boolean };
}

const keptMs = 30_000;
const toldAgainMs = 60_000;
/** How many answers of a kind are kept. */
const kept = 256;
const underWay = { all: 8, ofOne: 2 };
const aSecond = { each: 4, comers: 256 };
/** Each is asked once: what is not known now is asked for again by whoever wants it. */
const call = { timeoutMs: 5000, isAtOnce: true };

export class Reviews {
  readonly #options: ReviewOptions;
  readonly #rate: PerSecond;
  readonly #answers = { allowed: new Map<string, Kept>(), refused: new Map<string, Kept>() };
  readonly #underWay = new Map<string, { verdict: Promise<Verdict>; from: string }>();
  #toldAtMs = -toldAgainMs;

  constructor(options: ReviewOptions) {
    this.#options = options;
    this.#rate = new PerSecond(options.clock, aSecond);
  }

  /** `from`: the address of who asks. */
  async mayRead(token: string, from: string): Promise<Verdict> {
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#known(key);
    if (known !== undefined) return known;
    const asked = this.#underWay.get(key);
    if (asked !== undefined) return asked.verdict;
    const ofOne = [...this.#underWay.values()].filter((one) => one.from === from).length;
    if (this.#underWay.size >= underWay.all || ofOne >= underWay.ofOne || !this.#rate.take(from)) return 'unknown';
    const verdict = this.#ask(token).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, { verdict, from });
    this.#keep(key, await verdict);
    return verdict;
  }

  /** How many answers are remembered. */
  get size(): number {
    return this.#answers.allowed.size + this.#answers.refused.size;
  }

  #known(key: string): Verdict | undefined {
    const answer = this.#answers.allowed.get(key) ?? this.#answers.refused.get(key);
    return answer !== undefined && this.#options.clock.monotonic() < answer.untilMs ? answer.verdict : undefined;
  }

  #keep(key: string, verdict: Verdict): void {
    for (const answers of Object.values(this.#answers)) answers.delete(key);
    if (verdict === 'unknown') return;
    const answers = verdict === 'allowed' ? this.#answers.allowed : this.#answers.refused;
    answers.set(key, { verdict, untilMs: this.#options.clock.monotonic() + keptMs });
    const [oldest] = answers.keys();
    if (answers.size > kept && oldest !== undefined) answers.delete(oldest);
  }

  async #ask(token: string): Promise<Verdict> {
    const { client } = this.#options;
    const metadata = { name: '' };
    const whose = await client.create<TokenReview>(tokenReviews, { metadata, spec: { token } }, call);
    if (!whose.ok) return this.#unknown(whose.error);
    const { authenticated, user } = whose.value.status ?? {};
    if (authenticated !== true || user?.username === undefined) return 'unauthenticated';
    const { username, uid, groups, extra } = user;
    const spec = { user: username, uid, groups, extra, nonResourceAttributes: { path: '/metrics', verb: 'get' } };
    const may = await client.create<SubjectAccessReview>(subjectAccessReviews, { metadata, spec }, call);
    if (!may.ok) return this.#unknown(may.error);
    return may.value.status?.allowed === true ? 'allowed' : 'forbidden';
  }

  #unknown(error: KubeError): Verdict {
    const now = this.#options.clock.monotonic();
    if (now - this.#toldAtMs >= toldAgainMs) {
      this.#toldAtMs = now;
      this.#options.onProblem(error);
    }
    return 'unknown';
  }
}

interface Kept {
  verdict: Verdict;
  untilMs: number;
}
