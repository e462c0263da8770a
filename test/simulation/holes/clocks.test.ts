/** What time it is says no single answer: one of several API servers may have a wrong clock. */
import { runHoles } from './files.ts';

runHoles('a wrong Date', {
  'wrong-date':
    '[SAF-18, SAF-12, POD-4] ends no patience, leaves no machine off, and is followed once nobody contradicts it',
});

runHoles('a clock that was set back', {
  'clock-behind-a-young-node':
    '[FEN-2, SAF-5] makes no other Node of one that is younger than that, and no other record: it is fenced and let go',
  'outlets-swapped-clock-behind':
    '[SAF-17, SAF-1] S2: and hides nobody who was there: whose power was cut is not known, and nothing goes',
});

runHoles('a clock that was set forward', {
  'clock-set-forward-in-a-reboot': '[SAF-18, SAF-7] S45: gives a reboot no less time than it takes',
  'clock-set-forward-after-a-storm': '[STM-1] S21: ends no cooldown',
});

runHoles('a clock that was ahead, and is right again', {
  'storm-ended-ahead': '[STM-1, STM-6] nobody waits until the time by which a storm was written down as over',
  'pods-let-go-ahead': '[STM-4, EVD-2] nor are pods held until then',
});

runHoles('an operator that starts where the clock is behind', {
  'kubelets-replaced-clock-behind': '[SAF-18, SAF-7] S45: decides nothing until it knows which clock is right',
  'old-request-clock-behind': '[FEN-13] S37, S39: takes no request of an hour ago for one of now',
  'request-clock-behind': '[FEN-13] nor refuses one of now as one that is still to come',
  'quarantine-clock-behind': '[RET-2] S9: lifts no quarantine before its time',
  'newcomers-clock-behind': '[STM-1] takes nobody who has joined since for one that was in the storm',
});
