/** How one watch is doing, for readiness and metrics. */
import type { ListWatch } from '../kube/list-watch.ts';

export type AnyWatch = Pick<ListWatch<unknown>, 'run' | 'synced' | 'ageMs' | 'silentMs' | 'statistics' | 'entries'>;

export interface WatchState<Name extends string = string> {
  name: Name;
  objects: number;
  synced: boolean;
  ageMs: number;
  silentMs: number;
  lists: number;
  watches: number;
  duplicates: number;
}

export function stateOf<Name extends string>(name: Name, watch: AnyWatch): WatchState<Name> {
  const { synced, ageMs, silentMs, statistics } = watch;
  return { name, objects: watch.entries.size, synced, ageMs, silentMs, ...statistics };
}
