/**
 * Whether a node could be fenced right now: every device of its configuration is asked how it is, and nothing is switched
 * (EXP-3). What would go wrong in a fence has to show here: an agent that is not installed, a credential that has expired,
 * a device that answers for another machine (S29).
 */
import type { DeviceProvider } from '../devices/provider.ts';
import type { Hear } from './device-tasks.ts';
import { identitiesOf, plugged } from './device-tasks.ts';
import { saidBy } from './power.ts';
import type { DoubtAbout, PowerAnswer } from '../api/power.ts';
import type { ConfigResult, Level, Method, WrittenPlaces } from '../api/fence-config.ts';
import { problemText } from '../api/fence-config.ts';
import { hasTaint } from '../api/facts.ts';
import { portUnshown } from '../api/ports.ts';
import type { LiveNode } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import { within } from '../clock.ts';
import type { Device, DeviceAnswer } from '../devices/device.ts';
import type { CheckReason, NodeCheck } from '../api/node-check.ts';

export interface CheckOptions {
  provider: DeviceProvider;
  clock: Clock;
  /** What the word of a device is worth. */
  doubt: DoubtAbout;
  hear: Hear;
  /** Where what is wrong is written, and where the line belongs that would make a device believed. */
  places: WrittenPlaces;
  /** What a device said, for whoever tells people. */
  onAnswer?: (node: LiveNode, answer: CheckedAnswer, method: Method) => void;
  /** Whether a device would do, for whoever keeps that. */
  onChecked?: (node: LiveNode, method: Method, problem: Problem | undefined) => void;
  askTimeoutMs?: number;
  /** It is about to be fenced while it lives, and not on the day when it does not. */
  isForNow?: boolean;
}

export interface CheckedAnswer {
  method: string;
  /** Who was asked, by what, and where. */
  device: string;
  power: 'on' | 'off' | 'unknown';
  /** Whether it is this machine that it speaks of; `none`: it cannot say whose power it is. */
  identity: PowerAnswer['identity'];
  believed: boolean;
  /** The line by which an administrator says that it is the right device all the same. */
  paste?: string | undefined;
}

type Problem = NonNullable<NodeCheck['problem']>;

const defaultTimeoutMs = 60_000;
const maxMessage = 600;

export async function checkNode(node: LiveNode, config: ConfigResult, options: CheckOptions): Promise<NodeCheck> {
  const problem = await problemOf(node, config, options);
  return problem === undefined ? { node: node.name } : { node: node.name, problem };
}

async function problemOf(node: LiveNode, config: ConfigResult, options: CheckOptions): Promise<Problem | undefined> {
  if (!config.ok) return problem('ConfigurationInvalid', problemText(config.problems));
  const { isolation, powerManagement, recovery, source } = config.config;
  const asked = new Map<string, Promise<Problem | undefined>>();
  const isSole = powerManagement.length === 0;
  const ask = (method: Method, of: Omit<Of, 'isSole'>): Promise<Problem | undefined> => {
    const { driver, parameters, secrets, identity } = method;
    // Off and on are mostly of one device, which needs to be asked once; what it should answer is said of each.
    const key = JSON.stringify([driver, parameters, secrets, identity, of.isPower, of.isPart]);
    const known = asked.get(key) ?? askedDevice(node, method, { ...of, isSole }, options);
    asked.set(key, known);
    return known;
  };
  for (const [levels, isPower] of [
    [isolation, false],
    [powerManagement, true],
    [recovery, false],
  ] as const) {
    const found = await stepProblem(levels, (method, isPart) => ask(method, { isPower, isPart }));
    if (found === undefined) continue;
    // Nobody wrote anything: what is missing is not a device but a configuration.
    return source === undefined && found.reason === 'NoDevice' ? problem('NoConfiguration', found.message) : found;
  }
  return undefined;
}

/** One level that works is enough, as in a fence. */
async function stepProblem(
  levels: readonly Level[],
  ask: (method: Method, isPart: boolean) => Promise<Problem | undefined>,
): Promise<Problem | undefined> {
  // All are asked: one that is only tried when another has failed has to be known by then, too.
  const found = await Promise.all(
    levels.map(async ({ off, on }) => {
      const methods = [...off, ...on].filter(({ action }) => action === 'off' || action === 'on');
      return (await Promise.all(methods.map((method) => ask(method, off.length > 1)))).filter(
        (one) => one !== undefined,
      );
    }),
  );
  if (found.some((level) => level.length === 0)) return undefined;
  const problems = found.flat();
  const [first] = problems;
  const messages = [...new Set(problems.map(({ message }) => message))];
  if (first === undefined) return undefined;
  const all = problem(first.reason, messages.join('; '));
  return problems.every(({ mayPass }) => mayPass === true) ? { ...all, mayPass: true } : all;
}

async function askedDevice(
  node: LiveNode,
  method: Method,
  of: Of,
  options: CheckOptions,
): Promise<Problem | undefined> {
  const found = await askDevice(node, method, of, options);
  options.onChecked?.(node, method, found);
  return found;
}

async function askDevice(node: LiveNode, method: Method, of: Of, options: CheckOptions): Promise<Problem | undefined> {
  const { provider } = options;
  try {
    const found = await provider.device(node, method);
    if (!found.ok) {
      const place = found.key === undefined ? undefined : options.places.of(method, found.key);
      return problem('NoDevice', [method.name, place, found.problem].filter((part) => part !== undefined).join(': '));
    }
    const first = await statusOf(found.device, options);
    // One lost packet is no reason to wake somebody up.
    const answer = first.kind === 'unknown' ? await statusOf(found.device, options) : first;
    return judged(node, { method, found, answer, ...of }, options);
  } catch (error) {
    // A driver that throws is broken; that it would not throw in a fence is not to be counted on.
    return problem('DeviceSilent', `${method.name}: ${error instanceof Error ? error.message : 'it failed'}`);
  }
}

interface Of {
  isPower: boolean;
  /** One of several that switch its power: it may be off under a node that lives. */
  isPart: boolean;
  /** No power is cut: what cannot be let go by a way to the storage is not let go. */
  isSole: boolean;
}

interface Answered extends Of {
  method: Method;
  found: { device: Device; plug?: string };
  answer: DeviceAnswer;
}

function judged(
  node: LiveNode,
  { method, found: { device, ...where }, answer, isPower, isPart, isSole }: Answered,
  { doubt, hear, onAnswer, places, isForNow = false }: CheckOptions,
): Problem | undefined {
  const what = isPower ? 'power' : 'storage';
  const answered = saidBy(device, answer, identitiesOf(node, method));
  const said = hear(node, { method, what }, { ...answered, ...plugged(where) });
  const found = doubt(node, said, { what, isPart, isForLater: !isForNow });
  const pin = found !== undefined && isPinnable(said, method) ? places.pin(method, said.says ?? '') : undefined;
  const { power, identity } = said;
  const told = { method: method.name, device: device.name, power, identity, believed: found === undefined };
  onAnswer?.(node, { ...told, paste: pin?.line }, method);
  if (found !== undefined) {
    const hint = pin === undefined ? '' : `; if it is the right machine, write ${pin.line} into ${pin.into}`;
    return {
      ...problem(found.reason, `${method.name}: ${found.message}${hint}`),
      ...(found.mayPass === true ? { mayPass: true } : {}),
    };
  }
  if (isSole && said.isUnshown === true) return problem('NotProven', portUnshown(method.name, node.name));
  switch (answer.kind) {
    case 'status':
      return !isPower && answer.power === 'off' && isInService(node)
        ? problem(
            'CutOff',
            `${method.name}: ${device.name} is off, and cuts a node in service off from its storage; ${cutOffHint}`,
          )
        : undefined;
    case 'refused':
      return problem(
        'DeviceRefused',
        `${method.name}: ${device.name}: ${answer.message} (mostly a user or password that is wrong)`,
      );
    case 'accepted':
      return problem('DeviceSilent', `${method.name}: ${device.name} does not say whether it is on or off`);
    case 'unknown':
      return problem('DeviceSilent', `${method.name}: ${device.name}: ${answer.message}`);
  }
}

const cutOffHint = 'look what runs there, then switch it on';

/** What a fence has cut off is in quarantine until it is connected again. Nobody remembers any other cut: it is said, and stays (SAF-4). */
function isInService(node: LiveNode): boolean {
  return node.ready === 'True' && !hasTaint(node, QUARANTINE_KEY, 'NoSchedule');
}

/** Real controllers answer with GUIDs that their machines do not know: whoever has looked can say so. */
function isPinnable({ identity, says, isNode }: PowerAnswer, { driver }: Method): boolean {
  return identity === 'other' && isNode === undefined && says !== undefined && driver !== 'built-in';
}

function statusOf(device: Device, { clock, askTimeoutMs = defaultTimeoutMs }: CheckOptions): Promise<DeviceAnswer> {
  return within(clock, askTimeoutMs, (signal) => device.ask('status', signal));
}

function problem(reason: CheckReason, message: string): Problem {
  return { reason, message: message.slice(0, maxMessage) };
}
