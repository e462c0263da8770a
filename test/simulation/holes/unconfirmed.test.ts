/** What was confirmed off is asked for once more before its pods go: that has a word, a bound and a way out. */
import { runHoles } from './files.ts';

runHoles('a machine that was off', {
  'off-then-silent':
    '[SAF-10, STM-4, SAF-19] and whose device is silent now takes nobody the turn, and is let go and switched on when it answers',
  'off-then-hanging': '[SAF-10, SAF-19] and whose device hangs now is let go and switched on when it answers',
  'off-then-disputed': '[SAF-19, SEC-2] and which another node says to be is switched on, and nothing of it is let go',
  'off-said-after-the-failure':
    '[EVD-2, SAF-10] and whose device says so only when its fence has failed for good is let go all the same',
  'off-then-disputed-briefly':
    '[SEC-2, SAF-2] and which another node said to be is let go when nobody says so any more',
});
