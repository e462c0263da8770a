/**
 * A record that the API server refuses stops everything: what is written into it has to fit, whatever others write. And one that is
 * lost is made again from what is on the node.
 */
import { runHoles } from './files.ts';

runHoles('what is written of a fence fits', {
  'long-device-names': '[SAF-5] whatever its devices are called',
  'long-volume-handle': '[NGS-2] whatever a driver calls its volumes',
  'many-named-pauses': '[SAF-18] however many people have asked for patience',
  'long-boot-id': '[FEN-16] whatever a kubelet says of its boot',
});

runHoles('a record that is lost', {
  'forgotten-cut-told-again':
    "[SAF-4, RET-2] makes a cut of before nobody's own: it is connected when nothing of before can write",
  'record-deleted-then-booted': '[SAF-18] is no reason to cut a machine that has booted since',
  'unreported-volume-record-deleted':
    '[SAF-4, NGS-7] leaves no node in service where something may still run that no kubelet reports',
  'slow-to-end-without-volume':
    '[SAF-4, NGS-7, NGS-8] leaves no node in service where a pod without volumes may take its time to end; nor does one that is kept',
  'quarantine-put-on-again':
    '[SAF-4, NGS-7] says nothing less when the quarantine was taken off and put on again before',
  'shared-boot-id-record-deleted':
    '[FEN-16, RET-2] keeps a node out of service whose reboots nobody can see, and says who ends that',
  'record-deleted-in-recovery':
    '[RET-2, SAF-4] leaves no node in service that is still cut off from its storage, and says so',
  'record-and-configuration-deleted':
    '[RET-2] with all that could tell what was cut is given up, and its node is in service when it is clean',
  'cordon-forgotten': '[RET-2] leaves no cordon of ours behind, and nobody else without theirs',
  'record-deleted-under-way':
    '[POD-2] whose deletion no write could know of is made again before anything else goes, and the node comes back',
  'record-deleted-beside-a-risk': '[POD-2, FEN-3] lets nobody go at a risk in the pass that begins its fence again',
});

runHoles('a view that has missed something', {
  'conflict-unseen':
    '[SAF-4, NGS-8] is listed anew when a write finds that something is otherwise, and nothing is connected under a live writer',
  'watch-loses-events': '[RET-2] is listed anew, and what was switched off is switched on',
});
