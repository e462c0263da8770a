/**
 * Where we look from (STM-2). Who cannot read anything is blind and concludes nothing; but one who reads what the API server knows may
 * stand on the wrong side of a break all the same. Two signs of that are in what is seen anyway: everybody falls silent but those beside
 * us, which is a storm, however few they are; and the machine that we run on has fallen silent too, though we live.
 */
import type { TroubleCount } from '../api/release-view.ts';
import type { Brake, CountedNode } from './storm.ts';

/** One other zone that is lost may be that: two and more at once have something in common, which is the way from us to them. */
const fewestOthers = 2;

/** The zone that we are in, if nobody but some in it is heard of; undefined: somebody is, or nobody at all. */
export function loneZone(own: string, nodes: readonly CountedNode[]): string | undefined {
  const zone = nodes.find(({ name }) => name === own)?.zone ?? '';
  if (zone === '') return undefined;
  const others = nodes.filter((node) => node.zone !== zone);
  const isHeard = ({ life }: CountedNode): boolean => life === 'well';
  const isLone = !others.some(isHeard) && nodes.some(isHeard);
  return isLone && new Set(others.map((node) => node.zone)).size >= fewestOthers ? zone : undefined;
}

/** `untilMs`: by then our own node has been waited for for long enough. */
export function ownSilence(
  { standpoint }: Pick<TroubleCount, 'standpoint'>,
  { name, nowMs, untilMs }: { name: string; nowMs: number; untilMs: number },
): Brake | undefined {
  const silent = standpoint?.silent;
  if (silent === undefined || silent.node === name || nowMs >= untilMs) return undefined;
  const message = `${silent.node} is as silent as this one, and the operator that runs there lives`;
  return { reason: 'OwnNodeSilent', message, recheckAtMs: untilMs, untilMs };
}
