/** What a scenario needs of the world that it runs in. */
import type { Scenario } from './format.ts';

/** Whatever a volume or a class names, now or later in the scenario. */
export function driversOf({ objects, events }: Scenario): string[] {
  const applied = events.flatMap(({ act }) => (act.do === 'apply' ? [act.manifest] : []));
  const named = [...objects, ...applied].flatMap(({ object }) => {
    const { spec, provisioner } = object as { spec?: { csi?: { driver?: string } }; provisioner?: string };
    const { kind, metadata } = object;
    if (kind === 'CSIDriver') return [metadata.name];
    return [spec?.csi?.driver, kind === 'StorageClass' ? provisioner : undefined];
  });
  return [...new Set(named.filter((name) => name !== undefined))];
}

const cordons: ReadonlySet<string> = new Set(['cordon', 'uncordon', 'drain']);

/** Whose a cordon is shows in who has set the field (S8). To keep that costs as much as all the rest: only where it is looked at. */
export function hasCordonsOfPeople({ events }: Scenario): boolean {
  return events.some(({ act }) => cordons.has(act.do));
}
