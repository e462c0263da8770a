/** What the word of a device is worth where nobody watches Leases and nothing is kept: by what Kubernetes says of the node. */
import type { Hear } from '../../src/act/device-tasks.ts';
import type { DoubtAbout } from '../../src/api/power.ts';
import { doubtAbout } from '../../src/fence/belief.ts';

export const doubtByReady: DoubtAbout = ({ ready }, answer, about) => doubtAbout(answer, { ...about, ready });

/** Every device was seen on in good days. */
export const heardBefore: Hear = (_node, _method, said) => ({ ...said, wasSeenOn: true });
