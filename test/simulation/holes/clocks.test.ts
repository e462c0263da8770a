/** What time it is says no single answer: one of several API servers may have a wrong clock. */
import { runHoles } from './files.ts';

runHoles('a wrong Date', {
  'wrong-date':
    '[SAF-18, SAF-12, POD-4] ends no patience, leaves no machine off, and is followed once nobody contradicts it',
});
