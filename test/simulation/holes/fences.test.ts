/** A fence is built on facts with evidence, and how it begins and ends. */
import { runHoles } from './files.ts';

runHoles('a fence', {
  'back-before-any-command': '[SAF-8, FEN-4] ends without a command when its trouble ends before one was sent',
  'methods-removed': '[SAF-5, SAF-10] has no facts but what devices have confirmed, whatever is edited meanwhile',
  'off-for-good': '[SAF-10] is over for everybody else when all that may go has gone',
  'paused-in-mid-fence': '[SAF-12] of a policy that is paused switches on what it has switched off',
  'asked-for-after-a-failure': '[SAF-11] that has failed for good makes way for one that a person asks for',
  'marked-dead-by-hand': '[RET-1, RET-2] that is over and waits for a taint of somebody says so',
  'record-deleted-while-it-boots':
    '[SAF-7, SAF-1] takes no machine for off that was told to switch on since it said so',
  'record-deleted-while-cut-off': '[SAF-4] connects nothing that it found cut off and does not remember',
});
