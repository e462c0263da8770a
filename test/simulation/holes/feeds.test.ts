/** A machine with several supplies: off when all of them are, and whole again when all of them are on. */
import { runHoles } from './files.ts';

runHoles('what was cut of a machine that runs on', {
  'two-feeds-one-refuses':
    '[RET-2, SAF-19] S25: a feed that was cut is on again when the node is back, though its fence failed',
  'two-feeds-cancelled': '[RET-2, SAF-19] S25: and when it is back while its fence begins anew',
  'two-feeds-rebooted-by-itself': '[RET-2, SAF-19] S25: and when it has booted by itself, on the other one',
  'two-feeds-fenced-again':
    '[SAF-1, FEN-14] what we have cut ourselves is no lie of its device: the node is fenced again',
  'two-feeds-one-does-not-go-on':
    '[SAF-19, FEN-14] S25: one that does not go on keeps no other from being told, nor its node from service',
  'feed-without-on-method':
    '[RET-2, SAF-19] S25: one that nothing configured switches on is asked after, and said to be off',
});

runHoles('a device that is taken out of the configuration while its node is being fenced', {
  'feed-removed-in-mid-fence': '[SAF-5, FEN-14] S2: what is left of its level is no fact, whoever begins anew',
  'feeds-removed-in-mid-fence':
    '[SAF-19, RET-2] S25: what was cut by it is not forgotten when the node is back by another one',
  'feeds-written-again': '[SAF-19, RET-2] and is on again when it is written as it was',
  'outlet-removed-in-mid-fence': '[SAF-5, SAF-17] S2: nor is one outlet of two, which need a drill together',
});

runHoles('outlets that cannot say whose power they are', {
  'two-outlets-drilled':
    '[SAF-17, FEN-14] two of them are drilled together: that the node lives on the second is no lie of the first',
  'two-outlets-crossed':
    '[SAF-17, SAF-1, FEN-7] S2: that they are its power together is shown by a drill, or nothing is told and nothing goes by their word',
  'two-outlets-crossed-drilled': '[SAF-17, EXP-3] S2: which finds out that one of them is that of another machine',
  'two-outlets-drilled-then-lost': '[SAF-17, FEN-11] and by which they are believed when it matters',
  'outlet-drilled-then-replaced':
    '[SAF-17, SAF-1] S2: a drill is one of its machine, and says nothing of another one under the same name',
  'outlet-drilled-made-again': '[SAF-17, FEN-11] also after a boot, and with a Node that was made again',
});

runHoles('several ways to the same storage', {
  'part-of-a-failed-level-of-ports': '[FEN-11, SAF-5] S2: one that is closed cuts nothing off where the other is open',
});

runHoles('a switch port that cannot say whose it is', {
  'port-of-another-node': '[SAF-1, FEN-11] S2: cuts off nobody knows whom: nothing goes by its word',
  'port-unshown-then-power': '[SAF-1, FEN-11] but by that of the power, which is cut next',
  'port-shown': '[SAF-1, FEN-11] until somebody has shown whose it is',
});

runHoles('a way to the storage that was closed by nobody of us', {
  'port-closed-by-nobody': '[SAF-5, FEN-11] S2: cuts nothing off that is known of: nothing goes, and a person is told',
});

runHoles('a machine that somebody has switched off to repair it', {
  'repaired-after-a-failed-fence': '[SAF-19] stays off, although it was cut before, and never came back',
  'repaired-right-after-a-fence': '[SAF-19] also while a command of ours could still strike it',
});

runHoles('a fence that has failed for good after it has told', {
  'outlet-edited-while-off': '[FEN-6, SAF-1] a time-out that is edited makes no other outlet of it',
  'outlet-replaced-while-off': '[SAF-19, RET-2] S25: what it has cut is switched on again, whatever is written by now',
  'told-then-disputed': '[SAF-19, SEC-2] S25: and whoever claims its machine since',
});
