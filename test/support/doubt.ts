/** What the word of a device is worth where nobody watches Leases: by what Kubernetes says of the node. */
import type { Doubt } from '../../src/api/power.ts';
import { doubtAbout } from '../../src/fence/belief.ts';

export const doubtByReady: Doubt = ({ ready }, answer, about) => doubtAbout(answer, { ...about, ready });
