import type { Invariant } from './checker.ts';
import { s1 } from './s1-basis-first.ts';
import { s10 } from './s10-mirrors-and-tolerations.ts';
import { s11 } from './s11-attachments-last.ts';
import { s13 } from './s13-no-node-deleted.ts';
import { s14 } from './s14-preconditions.ts';
import { s15 } from './s15-live-reads.ts';
import { s16 } from './s16-no-going-back.ts';
import { s17 } from './s17-own-writes.ts';
import { s18 } from './s18-one-holder.ts';
import { s2 } from './s2-one-writer.ts';
import { s20 } from './s20-once.ts';
import { s21 } from './s21-storm-limits.ts';
import { s22 } from './s22-quorum.ts';
import { s23 } from './s23-cancelled.ts';
import { s24 } from './s24-eviction-only.ts';
import { s25 } from './s25-comes-to-rest.ts';
import { s26 } from './s26-unknown-is-not-no.ts';
import { s27 } from './s27-no-delay.ts';
import { s29 } from './s29-own-device.ts';
import { s3 } from './s3-unsettled-fence.ts';
import { s30 } from './s30-mixed-storage.ts';
import { s31 } from './s31-last-replica.ts';
import { s35 } from './s35-void-evidence.ts';
import { s33 } from './s33-connected-clean.ts';
import { s36 } from './s36-trouble-counts.ts';
import { s37 } from './s37-requests-once.ts';
import { s38 } from './s38-look-around.ts';
import { s34 } from './s34-known-devices.ts';
import { s39 } from './s39-no-late-command.ts';
import { s40 } from './s40-facts.ts';
import { s4 } from './s4-really-off.ts';
import { s41 } from './s41-no-idle-slots.ts';
import { s42 } from './s42-no-act-without-end.ts';
import { s43 } from './s43-staying-volumes.ts';
import { s44 } from './s44-only-the-configured.ts';
import { s45 } from './s45-nothing-wrong.ts';
import { s5 } from './s5-not-while-restarting.ts';
import { s6 } from './s6-no-execute.ts';
import { s7 } from './s7-taints-in-order.ts';
import { s8 } from './s8-only-ours.ts';
import { s9 } from './s9-clean-return.ts';

export const invariants: readonly Invariant[] = [
  s1,
  s2,
  s3,
  s4,
  s5,
  s6,
  s7,
  s8,
  s9,
  s10,
  s11,
  s13,
  s14,
  s15,
  s16,
  s17,
  s18,
  s20,
  s21,
  s22,
  s23,
  s24,
  s25,
  s26,
  s27,
  s29,
  s30,
  s31,
  s33,
  s34,
  s35,
  s36,
  s37,
  s38,
  s39,
  s40,
  s41,
  s42,
  s43,
  s44,
  s45,
];
