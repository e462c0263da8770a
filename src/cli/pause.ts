/** `fenceline pause`: nothing is begun about any node that cannot be taken back, until its time has passed or `pause --end` (ADM-5). */
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../api/duration.ts';
import { clockTime } from '../api/facts.ts';
import { pauseOf } from '../api/pause.ts';
import { PAUSE_NAME, writtenPause } from '../api/seen-pause.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { configMaps } from '../kube/resources.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { unheard } from './leading.ts';
import { whoAndWhen } from './node-fence.ts';
import type { Place } from './operator-place.ts';
import { pauseRef, placeOf, rivalsText } from './operator-place.ts';
import { apiFailure, taken } from './taken.ts';
import { UserError } from './user-error.ts';

interface PauseFlags extends Overrides {
  for?: number;
  reason?: string;
  end?: boolean;
  show?: boolean;
  dryRun?: boolean;
  output?: 'json' | 'yaml';
}

type PauseMap = KubeObject & { data?: Record<string, string> };

export interface Told {
  /** What is so now, or with `--dry-run` would be. */
  what: string;
  /** Absent: nothing is paused. */
  map?: PauseMap;
  notes: readonly string[];
}

export function pauseCommand(): Command {
  const command = new Command('pause').description(
    'pause everything: nothing that cannot be taken back is done to any node until the pause is over',
  );
  return addKubeFlags(command)
    .addOption(new Option('--for <duration>', 'how long; default: until pause --end').argParser(lengthOf))
    .option('--reason <text>', 'why, for whoever finds everything paused')
    .addOption(new Option('--end', 'go on').conflicts(['for', 'reason', 'show']))
    .addOption(new Option('--show', 'only say whether everything is paused').conflicts(['for', 'reason']))
    .option('--dry-run', 'ask the API server whether it would take it, and do nothing')
    .addOption(new Option('-o, --output <format>', 'print the ConfigMap').choices(['json', 'yaml']))
    .action(run);
}

async function run(flags: PauseFlags): Promise<void> {
  await tell(await withClient(flags, (client) => pause(client, flags)), flags);
}

export async function pause(client: KubeClient, flags: PauseFlags): Promise<Told> {
  const place = await placeOf(client, { given: flags.namespace });
  // A pause that no operator looks for would hold nothing, and look as if it did.
  if (place === undefined || place.guessed !== undefined) {
    const why =
      place?.guessed === undefined
        ? 'no operator is found here'
        : `where the operator is could not be read (${place.guessed})`;
    throw new UserError(`${why}: write -n and the namespace that it runs in`);
  }
  const { namespace } = place;
  const { who, nowMs } = await whoAndWhen(client);
  const found = await client.get<PauseMap>(pauseRef(namespace));
  if (!found.ok && found.error.kind !== 'notFound') throw apiFailure(found.error);
  const known = found.ok ? found.value : undefined;
  if (flags.show === true) return { ...stateOf(known, namespace, nowMs), notes: placeNotes(place) };
  if (flags.end === true) {
    const over = await end(client, known, { namespace, dryRun: flags.dryRun === true });
    return { ...over, notes: await unheard(client) };
  }
  const data = {
    by: who,
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...(flags.for === undefined ? {} : { until: clockTime(nowMs + flags.for) }),
  };
  const wanted: PauseMap = { ...known, metadata: known?.metadata ?? { name: PAUSE_NAME, namespace }, data };
  const map = await store(client, known, wanted, flags.dryRun === true);
  const notes = [
    ...placeNotes(place),
    ...(known === undefined ? [] : [`before: ${stateOf(known, namespace, nowMs).what}`]),
    ...(flags.for === undefined ? ['it has no end of its own: --for 2h gives it one'] : []),
    'what a fence has switched off is switched on again; a fence that has cut nothing yet is given up, and begins anew afterwards; everything else waits',
    `to go on: fenceline pause --end -n ${namespace}`,
  ];
  return { ...stateOf(map, namespace, nowMs), map, notes };
}

/** Whom it holds, where that is not what somebody may think. */
function placeNotes(place: Place): string[] {
  const { namespace, operator } = place;
  const rivals = rivalsText(place);
  const others = rivals === undefined ? [] : [rivals];
  switch (operator.leads) {
    case 'yes':
      return others;
    case 'no':
    case 'nobody':
      return [
        `no operator leads in ${namespace} now: a pause there is for one that is run there, and for no other`,
        ...others,
      ];
    case 'unknown':
      return [`whether an operator leads in ${namespace} could not be read (${operator.message})`];
  }
}

async function store(
  client: KubeClient,
  known: PauseMap | undefined,
  wanted: PauseMap,
  dryRun: boolean,
): Promise<PauseMap> {
  if (known === undefined) return taken(await client.create<PauseMap>(configMaps, wanted, { dryRun }));
  const { uid = '', namespace = '' } = known.metadata;
  const operation = { op: 'add' as const, path: '/data', value: wanted.data ?? {} };
  return taken(await client.patch<PauseMap>(pauseRef(namespace), { uid }, [operation], { dryRun }));
}

async function end(
  client: KubeClient,
  known: PauseMap | undefined,
  { namespace, dryRun }: { namespace: string; dryRun: boolean },
): Promise<Omit<Told, 'notes'>> {
  if (known === undefined) return { what: `nothing was paused in ${namespace}` };
  if (!dryRun) taken(await client.delete(pauseRef(namespace), { uid: known.metadata.uid ?? '' }));
  return {
    what: `the pause in ${namespace} is over: what was cut goes on from where it stood, and a fence that had cut nothing begins anew, with its waiting times`,
  };
}

function stateOf(map: PauseMap | undefined, namespace: string, nowMs: number): Omit<Told, 'notes'> {
  if (map === undefined) return { what: `nothing is paused in ${namespace}` };
  const written = writtenPause(map);
  const paused = pauseOf({ namespace, written }, nowMs);
  if (paused === undefined)
    return { what: `nothing is paused in ${namespace}: a pause was over at ${written.until}`, map };
  const since = written.since === undefined ? '' : `, since ${written.since}`;
  return { what: `in ${namespace}${since}: ${paused.message}`, map };
}

async function tell({ what, map, notes }: Told, { output, dryRun }: PauseFlags): Promise<void> {
  for (const note of notes) process.stderr.write(`${note}\n`);
  if (output !== undefined && map !== undefined) {
    const text = output === 'json' ? `${JSON.stringify(map, null, 2)}\n` : (await import('./yaml.ts')).toYaml(map);
    process.stdout.write(text);
  } else process.stdout.write(`${what}${dryRun === true ? ' (dry run)' : ''}\n`);
}

function lengthOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('write a duration such as 90s, 5m or 1h30m.');
  return ms;
}
