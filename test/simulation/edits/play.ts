/**
 * Makes the edits of some stories in a cluster with an operator, one after the other, and says what was not as it should be: what is
 * wrong is refused or told, nobody ends by it or acts on it, and after each edit all comes to rest.
 */
import type { Condition } from '../../../src/api/common.ts';
import { KINDS } from '../../../src/api/kinds.ts';
import { parseObject } from '../../../src/api/parse.ts';
import type { Clock } from '../../../src/clock.ts';
import { sleep } from '../../../src/clock.ts';
import type { KubeObject } from '../../../src/kube/client.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import type { ObjectRef } from '../../../src/kube/resources.ts';
import { configMaps, drainPolicies, fenceDevices, nodeFences, remedyPolicies } from '../../../src/kube/resources.ts';
import { administrator, isOperator } from '../../../src/scenario/operator-user.ts';
import type { Report } from '../../../src/scenario/report.ts';
import { runScenario } from '../../../src/scenario/runner.ts';
import type { World } from '../../../src/world/world.ts';
import type { Written } from './base.ts';
import { cluster, EDITED, keyOf, STANDING } from './base.ts';
import type { Edit, Story } from './generate.ts';
import { describe } from './generate.ts';
import { changed } from './values.ts';

/** What follows from an edit is written by then: devices are asked again, and seen beside the next heartbeat of their nodes. */
const doneMs = 15_000;
/** And in the rest of this nothing is written. */
const windowMs = 21_000;
/** Long enough for a node to be missed and fenced. */
const troubledWindowMs = 40_000;
/** A node that has failed is back, or given up, by then. */
const troubleMs = 400_000;
const healedAfterMs = 60_000;
/** In one window; a policy, four devices and their records are a dozen. */
const mostWrites = 40;
const marginMs = 5000;

const resources = [remedyPolicies, drainPolicies, nodeFences, fenceDevices, configMaps];

export interface Finding {
  seed: number;
  what: string;
}

/** `by`: a mutant, for instance. */
export async function play(stories: readonly Story[], by: typeof runScenario = runScenario): Promise<Finding[]> {
  const lengths = stories.map(lengthOf);
  const runForMs = lengths.reduce((sum, one) => sum + one, marginMs);
  const events = stories.flatMap(({ trouble }) => {
    if (trouble === undefined) return [];
    const { node, event, atMs } = trouble;
    const back = event === 'partition' ? { heal: node } : { powerOn: node };
    return [
      { at: `${atMs / 1000}s`, [event]: node },
      { at: `${(atMs + healedAfterMs) / 1000}s`, ...back },
    ];
  });
  const author = new Author();
  let told: Promise<void> = Promise.resolve();
  const report = await by(cluster('edits', { runForMs, events }), () => performance.now(), {
    freezes: true,
    onWorld: (world, clock) => author.follow(world, clock),
    onZero: () => {
      told = author.tell(stories);
      // Heard of when the run is over.
      told.catch(() => {});
    },
  });
  await told;
  return [...author.findings, ...author.judge(report, stories)];
}

function lengthOf(story: Story): number {
  const { edits, trouble } = story;
  return edits.length * windowOf(story) + windowMs + (trouble === undefined ? 0 : troubleMs);
}

function windowOf({ trouble }: Story): number {
  return trouble === undefined ? windowMs : troubledWindowMs;
}

interface Seen {
  atMs: number;
  what: string;
}

class Author {
  readonly findings: Finding[] = [];
  readonly #writes: Seen[] = [];
  /** When each story began. */
  readonly #began: { seed: number; atMs: number }[] = [];
  /** While a ConfigMap that is known to be wrong is all that is written of a node. */
  readonly #wrong: { seed: number; fromMs: number; toMs: number; node: string | undefined }[] = [];
  #world: World | undefined;
  #clock: Clock | undefined;
  #zeroMs = 0;

  follow(world: World, clock: Clock): void {
    this.#world = world;
    this.#clock = clock;
    world.server.onAudit(({ user, verb, resource, subresource, name, code }) => {
      const what = `${verb} ${[resource, name, subresource].filter((part) => part !== undefined).join('/')}`;
      if (code >= 500) this.#found(`${user}: ${what} was answered with ${code}`);
      if (isOperator(user) && resource !== 'leases')
        this.#writes.push({ atMs: this.#nowMs(), what: `${what} ${code}` });
    });
  }

  async tell(stories: readonly Story[]): Promise<void> {
    this.#zeroMs = this.#clockOf().monotonic();
    const before = this.#conditions();
    for (const story of stories) {
      this.#began.push({ seed: story.seed, atMs: this.#nowMs() });
      for (const [index, edit] of story.edits.entries()) {
        const outcome = await this.#edit(edit);
        const isWrong = edit.isWrong === true && outcome === 'accepted' && index === 0;
        if (isWrong)
          this.#wrong.push({
            seed: story.seed,
            fromMs: this.#nowMs(),
            toMs: this.#nowMs() + windowOf(story),
            node: story.trouble?.node,
          });
        await this.#rest(story, windowOf(story));
        if (isWrong && this.#conditions().includes('Valid=True')) {
          this.#found('it is wrong, and the policy of its node says that all is well');
        }
      }
      for (const object of EDITED) await this.#restore(object);
      await sleep(this.#clockOf(), story.trouble === undefined ? 0 : troubleMs);
      await this.#rest(story, windowMs);
      const after = this.#conditions();
      if (story.trouble === undefined && after !== before)
        this.#found(`it ends with ${after} and had begun with ${before}`);
    }
  }

  /** What only the whole run tells. */
  judge({ timeline, violations }: Report, stories: readonly Story[]): Finding[] {
    const seedAt = (atMs: number): number => this.#began.findLast((one) => one.atMs <= atMs)?.seed ?? 0;
    const troubled = new Set(stories.filter(({ trouble }) => trouble !== undefined).map(({ seed }) => seed));
    const commands = timeline.filter(({ actor, what }) => actor === 'device' && what !== 'asked for status');
    const isWrongAt = (atMs: number, object: string): boolean =>
      this.#wrong.some(({ fromMs, toMs, node }) => atMs > fromMs + 1000 && atMs < toMs && object === `node/${node}`);
    return [
      ...violations.map(({ invariant, at, detail }) => ({
        seed: seedAt(at),
        what: `${invariant} at ${at}: ${detail}`,
      })),
      ...commands
        .filter(
          ({ at, what, object }) => !troubled.has(seedAt(at)) || (what === 'asked for off' && isWrongAt(at, object)),
        )
        .map(({ at, what, object }) => ({ seed: seedAt(at), what: `${object} ${what} at ${at}` })),
      ...this.#writes
        .filter(({ atMs, what }) => !troubled.has(seedAt(atMs)) && isAct(what))
        .map(({ atMs, what }) => ({ seed: seedAt(atMs), what: `${what} at ${atMs}` })),
    ];
  }

  async #edit({ object: key, path, value }: Edit): Promise<'accepted' | 'refused' | 'nothing'> {
    const base = EDITED.find((one) => keyOf(one) === key);
    if (base === undefined) throw new Error(`there is no ${key}`);
    if (path.length === 0) return this.#delete(base);
    const live = await this.#read(base);
    const before = live ?? base;
    const next = changed(before, path, value) as Written;
    const why = whyNot(next);
    const outcome = await this.#write(base, next, live);
    if (outcome.code >= 500) this.#found(`the API server answered ${outcome.message}`);
    // The parser reads no key of this name, and so cannot say what is wrong with it.
    const isUnread = JSON.stringify(next).includes('"__proto__"');
    if (why === undefined && outcome.code >= 300 && !isUnread)
      this.#found(`it is right, and was refused: ${outcome.message}`);
    if (why !== undefined && outcome.code < 300) this.#found(`it is wrong, and was taken: ${why}`);
    return outcome.code < 300 ? 'accepted' : 'refused';
  }

  async #restore(base: Written): Promise<void> {
    if (!STANDING.includes(base)) {
      await this.#delete(base);
      return;
    }
    const live = await this.#read(base);
    const next = live === undefined ? base : { ...live, ...base, metadata: live.metadata };
    const { code, message } = await this.#write(base, next, live);
    if (code >= 300) this.#found(`what was right before is refused: ${message}`);
  }

  async #write(base: Written, next: Written, live: KubeObject | undefined): Promise<{ code: number; message: string }> {
    const ref = refOf(base);
    const client = this.#client();
    const written = live === undefined ? await client.create(ref.resource, next) : await client.replace(ref, next);
    return written.ok
      ? { code: 200, message: '' }
      : { code: written.error.status ?? 599, message: written.error.message };
  }

  async #delete(base: Written): Promise<'accepted' | 'nothing'> {
    const live = await this.#read(base);
    if (live === undefined) return 'nothing';
    const { ok } = await this.#client().delete(refOf(base), { uid: live.metadata.uid ?? '' });
    return ok ? 'accepted' : 'nothing';
  }

  async #read(base: Written): Promise<(Written & KubeObject) | undefined> {
    const read = await this.#client().get<Written & KubeObject>(refOf(base));
    return read.ok ? read.value : undefined;
  }

  async #rest(story: Story, forMs: number): Promise<void> {
    const fromMs = this.#nowMs();
    await sleep(this.#clockOf(), forMs);
    const after = this.#writes.filter(({ atMs }) => atMs >= fromMs);
    const shown = after.map(({ atMs, what }) => `${Math.round(atMs - fromMs)} ms ${what}`);
    if (story.trouble === undefined && after.length > mostWrites)
      this.#found(`${after.length} writes after one edit: ${shown.slice(-5).join(', ')}`);
    const isOver = this.#nowMs() - (this.#began.at(-1)?.atMs ?? 0) > troubleMs;
    if (story.trouble !== undefined && !isOver) return;
    const late = after.filter(({ atMs }) => atMs > fromMs + doneMs);
    if (late.length > 0) this.#found(`it does not come to rest: ${shown.slice(-5).join(', ')}`);
  }

  /** Of every policy, without times and numbers of generations. */
  #conditions(): string {
    return STANDING.flatMap((object) => {
      const { resource, namespace, name } = refOf(object);
      const key = namespace === undefined ? name : `${namespace}/${name}`;
      const found = this.#world?.server.peek(resource.group, resource.plural, key);
      const { conditions = [] } = (found?.status ?? {}) as { conditions?: Condition[] };
      return conditions.map(({ type, status, reason }) => `${name} ${type}=${status} ${reason}`);
    }).join(', ');
  }

  #found(what: string): void {
    this.findings.push({ seed: this.#began.at(-1)?.seed ?? 0, what });
  }

  #nowMs(): number {
    return this.#clockOf().monotonic() - this.#zeroMs;
  }

  #clockOf(): Clock {
    if (this.#clock === undefined) throw new Error('there is no world yet');
    return this.#clock;
  }

  #client(): KubeClient {
    const transport = this.#world?.server.transport(administrator);
    if (transport === undefined) throw new Error('there is no world yet');
    return new KubeClient({ transport, clock: this.#clockOf(), userAgent: 'somebody', fieldManager: 'somebody' });
  }
}

export function refOf({ kind, metadata: { name, namespace } }: Written): ObjectRef {
  const resource = resources.find((one) => one.kind === kind);
  if (resource === undefined) throw new Error(kind);
  return { resource, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** What the parser of the product says, which is not what the API server judges by. Undefined: it is right. */
export function whyNot(object: Written): string | undefined {
  const kind = KINDS.find((one) => one.kind === object.kind);
  if (kind === undefined) return undefined;
  const parsed = parseObject(kind.schema, object);
  return parsed.ok ? undefined : parsed.problems.join('; ');
}

/** Of writes of an operator: those that do something to nodes, pods or volumes, and do not only tell. */
function isAct(what: string): boolean {
  return /^\w+ (nodes|pods|volumeattachments|jobs|persistentvolumes|persistentvolumeclaims)\b/.test(what);
}

/** One line for each story of which something is to be told. */
export function told(findings: readonly Finding[], stories: readonly Story[]): string[] {
  return stories.flatMap((story) => {
    const own = findings.filter(({ seed }) => seed === story.seed).map(({ what }) => what);
    return own.length === 0 ? [] : [`${describe(story)}: ${[...new Set(own)].slice(0, 4).join(' | ')}`];
  });
}
