/** A cordon of ours is no drain, and a drain of ours is one: begun by a cordon, and at an end when those who were there have left. */
import { runHoles } from './files.ts';

runHoles('drains and our own cordons', {
  'fence-cordon-is-no-drain':
    '[DRN-2, DRN-4] nothing leaves a node because a fence has cordoned it; for the drain of a remedy it does',
  'drain-without-cordon':
    '[SAF-9, RET-2] a remedy that drains cordons first, evicts nobody twice, and takes its cordon away when all is over',
});
