import { runHoles } from './files.ts';

runHoles('a storm is no reason to act', {
  'heard-before-the-api-was-away':
    '[STM-1, STM-2, STM-8] who was heard of before the API server was away may be lost since: that is found out before anything is cut',
  'quorum-while-the-api-is-away':
    '[STM-8, STM-2] nor does a majority of the control plane that was heard of before count as one',
  'others-after-the-api-was-away': '[STM-1] S25: nodes that only count are Ready again after the API server was away',
  'request-after-the-api-was-away': '[STM-8, STM-2] nor for what a person asks for',
  'silent-together-jobs':
    '[STM-1, SAF-14] who is silent by its own Lease counts before it is judged: of nodes that fall silent together none gets a Job',
  'zone-of-any-name': '[STM-1] the limit of a zone holds whatever the zone is called',
  'deadlock-everywhere': '[STM-1] six Ready nodes of six with the same condition: none is fenced',
  'deadlock-everywhere-failover':
    '[STM-1] nor when another leader takes over, which has not seen since when they have it',
  'deadlock-jobs': '[STM-1] six Ready nodes of six with the same condition: none gets a Job',
  'staggered-leases': '[SAF-7] nine of twelve nodes cut off within one renewal: nobody loses power',
  'renewal-found-late':
    '[SAF-7] a renewal that a watch has lost, and a read finds later, is no sign of life since the suspicion',
  'lost-again-behind-a-command':
    '[SAF-7] one that was back and is lost again before its fence is over came under suspicion anew',
  'beside-one-found-off':
    '[SAF-7, EVD-4] of one that a watched device says to be off nobody waits to hear: it is counted as it is',
  'second-time-around': '[SAF-7] a node that was fenced before and falls silent first: nobody loses power',
  'back-by-themselves': '[STM-1, SAF-7] three of six lose their power and boot by themselves: none is told anything',
  'back-by-itself': '[SAF-18] a machine that was off and that somebody has switched on has the time of a boot',
  'joined-in-a-storm':
    '[STM-1, STM-6] nodes that join while a storm lasts do not end it, also for the next leader; it ends when enough are heard of again',
  'deleted-in-a-storm':
    '[STM-1, STM-6] nor does it end because Node objects are deleted: that says nothing of their machines',
  'storm-of-another-policy':
    '[STM-1, STM-6] nor because one of them comes under another policy: a storm is that of the cluster',
  'storm-forgotten-with-its-records':
    '[STM-1, STM-6] nor because the records of it are deleted: whoever leads knows who was in it',
  'second-one-in-the-soak':
    '[STM-1, STM-6] a node that is back and only soaks is in no storm: the next one to fail waits for nobody',
  'cooldown-of-another-policy':
    '[STM-6] after a storm nobody is fenced for as long as its own policy says, whichever has seen it; what is too many by the policy of others alone is no storm',
  cooldown: '[STM-6] after a storm nobody is fenced for a while, and then by itself',
});

runHoles('a storm that goes on', {
  'policy-replaced-in-a-storm': '[STM-1, SAF-7] although its policy is away for a moment',
  'requested-by-all-in-a-storm': '[STM-1] although somebody asks for a fence of each node in it',
});

runHoles('a storm that is over', {
  'registered-again-in-a-storm': '[STM-1, STM-6] although nodes that were there were made again meanwhile',
  'zone-changed-in-a-storm': '[STM-1, STM-6] although a node in it is said to be in another zone',
});
