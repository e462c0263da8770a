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
