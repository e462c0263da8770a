/**
 * A process that stands still just when a write is about to leave, for longer than it may lead without renewing: when it
 * goes on, the write does not leave (S19). One story for each place that hands the question to the wire.
 */
import { atOnce } from '../../simulation/fencing/fenced.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import type { Story, StoryOptions } from '../story.ts';
import { sleep } from '../../../src/clock.ts';
import type { Clock } from '../../../src/clock.ts';
import { drain, fromBefore } from './drains.ts';
import { deviceAsked, matching, meanwhile, together } from './kit.ts';
import { mark, removed } from './machines.ts';
import { emptied, jobOn, place, shutAndOpen, ways } from './ways.ts';

/** A leader that could not renew for ten seconds does not lead any more. */
const stillMs = 13_000;

function stalled(write: RegExp): StoryOptions {
  const isIt = matching(write);
  let clock: Clock | undefined;
  let pause: Promise<void> | undefined;
  let hasLeft = false;
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      if (user !== 'operator-1' || clock === undefined) return inner.send(request);
      const isFirst = pause === undefined && isIt(request);
      if (isFirst) pause = sleep(clock, stillMs);
      await pause;
      const response = await inner.send(request);
      hasLeft ||= isFirst;
      return response;
    },
    close: () => inner.close(),
  });
  return {
    wire,
    onWorld: (_, virtual) => (clock = virtual),
    wrong: () => [
      ...(pause === undefined ? ['nothing was about to leave'] : []),
      ...(hasLeft ? [`${write.source} left although this instance did not lead any more`] : []),
    ],
  };
}

function story(
  name: string,
  scenario: Story['scenario'],
  write: RegExp,
  options: () => StoryOptions = () => ({}),
): Story {
  return { name: `stalled, ${name}`, scenario, options: () => together(stalled(write), options()) };
}

const lastReplica = 'block-if-contains-last-replica';
const two = ['node-1', 'node-2'];
const broken = { type: 'Broken', status: 'True', for: '5s' };
const event = { at: '0s', condition: { node: { nodeOf: { label: 'app=web' } }, type: 'Broken', status: 'True' } };

/** Who cannot reach the API server has lost the lead after this, and what it goes on asking its devices nobody needs. */
const lostBySeconds = 42;
const leaderless: Story = {
  name: 'a device, and nobody leads any more',
  scenario: () =>
    ways.power('leaderless', {
      policy: { fence: { ...atOnce, retries: 0 } },
      events: [
        { at: '0s', device: { node: place, fault: 'ignores' } },
        { at: '0s', partition: place },
        { at: '25s', isolateOperator: 1 },
      ],
      runFor: '70s',
    }),
  options: () =>
    deviceAsked((asked) =>
      asked
        .filter(({ seconds }) => seconds > lostBySeconds)
        .map(({ action, seconds }) => `its device is asked for ${action} at ${seconds} s`),
    ),
};

export const stalledStories: readonly Story[] = [
  leaderless,
  story('a quarantine', () => ways.policy('stalled-quarantine'), /^PATCH .*\/nodes\/[^/ ]* .*quarantine/),
  story('what is known of a device', () => ways.power('stalled-device'), /^PUT .*\/fencedevices\//),
  story('a record', () => ways.policy('stalled-record'), /^PUT .*\/nodefences\//),
  story(
    'a machine to be removed',
    () => removed('stalled-machine', {}),
    /^DELETE .*\/machines\//,
    () => meanwhile({ 1: (other) => mark(other) }),
  ),
  story('a Job', () => ways.remedy('stalled-job', { policy: jobOn(broken), events: [event] }), /^POST .*\/jobs /),
  story('an eviction', () => ways.remedy('stalled-eviction', emptied), /^POST .*\/eviction /),
  story('a cordon', () => ways.remedy('stalled-cordon', shutAndOpen), /^PATCH .*\/nodes\/[^/ ]* .*unschedulable/),
  story(
    'a budget to be made',
    () => drain('stalled-made', { policy: lastReplica, copies: two, events: [] }),
    /^POST .*\/poddisruptionbudgets /,
  ),
  story(
    'a budget to be announced',
    () => drain('stalled-announced', { policy: lastReplica, copies: two }),
    /^PATCH .*\/poddisruptionbudgets\//,
  ),
  story(
    'a budget to go',
    () => drain('stalled-gone', { policy: lastReplica, copies: two }),
    /^DELETE .*\/poddisruptionbudgets\//,
  ),
  story(
    'a replica from before the upgrade',
    () => drain('stalled-upgrade', { policy: lastReplica, copies: two, objects: [fromBefore], events: [] }),
    /^PATCH .*\/replicas\/from-before /,
  ),
];
