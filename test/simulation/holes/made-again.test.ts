/** A Node object that is deleted, and made again or not: what was cut is a fact about its machine. */
import { runHoles } from './files.ts';

runHoles('what was cut of a machine whose Node object is made again', {
  'node-made-again': '[RET-2, NGS-7] keeps it in quarantine, and is undone when it is clean, in the same boot',
  'node-made-again-rebooted': '[RET-2] is undone when it was booted',
  'node-made-again-at-once': '[RET-2] is undone also where nobody has seen that there was none',
  'node-made-again-edited': '[RET-2, SAF-5] is said also where nothing that is configured connects it any more',
  'node-made-again-without-methods':
    '[RET-2, SAF-5] S25: also where its power was told in vain, and nothing would switch it on any more',
  'node-made-again-unreported-volume':
    '[SAF-4, NGS-7] stays cut where no kubelet reports what was let go, until it is booted again',
  'node-made-again-while-off': '[SAF-19] is not what was found off: it is switched on again',
});

runHoles('what was cut of a machine whose Node object is gone', {
  'node-deleted-while-cut-off': '[RET-2] is an alarm for as long as it is so',
  'node-deleted-while-off': '[RET-2, SAF-19] is switched on again, if it was its power',
  'node-deleted-while-off-removed': '[FEN-11] is left where the policy says that the machine goes',
});
