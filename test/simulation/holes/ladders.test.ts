/** Every threshold has a ladder of its own, and none hides what another one is for. */
import { runHoles } from './files.ts';

runHoles('a ladder for each threshold', {
  'exhausted-ladder':
    '[SAF-11] one that has come to its end does not keep the node from being fenced for something else',
  'open-ladder': '[SAF-11] nor does one whose period passes; what it has done is undone when its own trouble is over',
  'two-ladders-one-fence': '[SAF-11] two that call for a fence share it',
});
