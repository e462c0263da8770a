/** A fence is built on facts with evidence, and how it begins and ends. */
import { runHoles } from './files.ts';

runHoles('a fence', {
  'connected-in-the-boot-of-the-release':
    '[SAF-4] connects no node in the boot in which something was let go, although it was booted since it was cut off',
  'connected-under-what-others-let-go':
    '[SAF-4] connects no node under what others have let go there, beside what it let go itself',
  'power-first-isolation-only': '[FEN-5] isolates at its time what has no power to cut, however early that would go',
  'power-first-often': '[FEN-5, FEN-14] begins anew in a later look, and keeps nobody from the others',
  'back-before-any-command': '[SAF-8, FEN-4] ends without a command when its trouble ends before one was sent',
  'forbidden-policy':
    '[SEC-3] is not begun by a policy that uses what the operator was told to forbid, and is when it does without',
  'policy-gone-and-back':
    '[SAF-7] tells no device to cut a node that is back, also where its policy is gone and nobody has told the operator',
  'methods-removed': '[SAF-5, SAF-10] has no facts but what devices have confirmed, whatever is edited meanwhile',
  'told-again':
    '[SAF-8, STM-1, STM-8] tells nothing again, nor for the first time long after it was decided, without all that a cut is asked for',
  'level-put-in-front': '[FEN-14] goes on with the level that it has begun, whatever is put in front of it',
  'off-for-good': '[SAF-10] is over for everybody else when all that may go has gone',
  'paused-in-mid-fence': '[SAF-12] of a policy that is paused switches on what it has switched off',
  'dry-run-then-enforce':
    '[SAF-12, SAF-7] that was only rehearsed is told rung by rung, and begins at the beginning when it is meant',
  'dry-run-outlet': '[SAF-12, SAF-17] that is only rehearsed waits for what a real one would wait for',
  'on-refused':
    '[SAF-19, SAF-18] tries to switch on what it has cut, whatever holds cuts back or says of machines found off',
  'on-refused-cordoned': '[SAF-19] switches on what it has cut, although others have cordoned the node since',
  'on-refused-paused': '[SAF-12] that could not switch on what it has cut does so when its policy is paused',
  'on-refused-policy-gone': '[SAF-12] that could not switch on what it has cut does so when its policy is gone',
  'on-refused-rung-held':
    '[SAF-19, SAF-11] that could not switch on what it has cut does so although the next remedy is held back',
  'late-cut-after-a-reboot':
    '[SAF-8, SAF-19] S25: is not over while its command may strike the next boot, and switches on what that strikes, whoever has cordoned it',
  'late-cut-while-it-boots':
    '[SAF-19] S25: switches on what a command of before strikes while it boots, with nothing left to free',
  'late-cut-after-the-fence':
    '[SAF-19] S25: knows its own command by what it strikes after it is over, whoever has cordoned the node since',
  'off-again-while-it-boots': '[SAF-19] S25: switches on what is off again before it is back',
  'switched-on-by-hand':
    '[SAF-18] S45: leaves a machine that somebody has switched on the time of a boot, and lets nothing go meanwhile',
  'cut-seen-late': '[SAF-19] that begins anew and finds its own cut switches on what it has cut',
  'asked-for-after-a-failure': '[SAF-11] that has failed for good makes way for one that a person asks for',
  'marked-dead-by-hand': '[RET-1, RET-2] that is over and waits for a taint of somebody says so',
  'marked-out-of-service-beside-us':
    '[EVD-5, FEV-8] takes its own mark away when it has waited long enough for a volume, switches on, and leaves that of an administrator',
  'volume-free-later':
    '[EVD-5] leaves the volume of a pod that goes later as long to be detached as those had that were let go before',
  'stopped-while-it-boots':
    '[FEN-13, SAF-11] that was stopped is over when its machine has booted meanwhile, and new trouble begins anew',
  'edited-as-it-is-marked':
    '[EVD-5] takes its mark away when its device is edited, also in the moment in which it is put there',
  'mark-left-by-a-stop': '[EVD-5, FEN-13] that a person stops takes its own mark away, and does nothing else any more',
  'mark-left-while-away':
    '[EVD-5, FEN-13] leaves no mark on a node that lives, whoever has stopped or paused it, or deleted its record, meanwhile',
  'switched-on-while-it-is-recorded':
    '[SAF-5] whose record is still under way when its machine is switched on does nothing for it',
  'record-deleted-while-it-boots':
    '[SAF-7, SAF-1] takes no machine for off that was told to switch on since it said so',
  'record-deleted-while-cut-off': '[SAF-4] connects nothing that it found cut off and does not remember',
  'records-restored-while-cut-off':
    '[SAF-4, SAF-6] takes nothing for a fact or a wish that comes from a backup without status',
  'unreported-volume':
    '[SAF-4, RET-2] connects nothing in the same boot where a pod was let go whose volume no kubelet reports',
  'unreported-volume-let-go-by-others':
    '[SAF-4] remembers who was there with a volume that no kubelet reports, whoever lets them go',
  'cut-off-in-the-second-of-a-silent-device':
    '[RET-2, SAF-8] connects what it has cut off itself, although another command of the same second was never sent',
  'let-go-beside-an-inline-volume': '[SAF-4] takes no name of a volume for that of an inline one',
  'let-go-by-others-while-cut-off': '[SAF-4] connects nothing while a pod runs there that somebody else has let go',
});
