import { runHoles } from './files.ts';

runHoles('what a person asks for is done once, now, or not at all', {
  'requests-restored': '[SAF-6] records that come back from a backup without status: nobody has asked today',
  'requests-from-the-future': '[SAF-6] requests dated ahead are refused, and not due later',
  'request-under-dry-run': '[SAF-6] a request under a policy that does not act is no landmine for the day it does',
  'request-without-policy': '[SAF-6] where no policy selects the node a request has to say so in so many words',
  'forbidden-request': '[SEC-3, SAF-6] where the operator was told to forbid that, saying so does not help',
  'request-spent-withdrawn': '[SAF-6] one that is spent begins nothing in the place of a fence that is withdrawn',
  'request-spent': '[SAF-6, SAF-7] one that is spent stands for nothing in the next incident, which looks around first',
  'request-held-by-a-storm':
    '[SAF-6] one that a storm holds back lapses after ten minutes, and does not go off when it passes',
  'request-for-one-that-came-back': '[SAF-6] one that was about a lost node is not done to it when it is back',
  'request-for-an-earlier-boot': '[SAF-6] one that is held back is not about the next boot of the node',
  'request-never-approved': '[SAF-6, ADM-8] one that nobody approves lapses, and no later approval is for it',
  'request-for-a-newcomer':
    '[SAF-6] one for a node that is not there is refused, and not due when one of its name joins',
  'request-unanswered':
    '[SAF-6, SAF-8] one that nobody could answer is not done to a node that has come back, or joined, since somebody asked',
  'request-behind-a-device':
    '[SAF-6, SAF-8] one about a lost node is not done to it when it comes back while its device is asked, before any command',
  'asked-for-by-the-port-of-another':
    '[FEN-2, SAF-17] nor does one go on that only isolates a node that is well, by what may be the port of another one',
  'request-that-only-isolates': '[FEN-2, RET-2] one that can only isolate says until when, and ends with another boot',
});
