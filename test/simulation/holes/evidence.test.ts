/** What is off is let go in seconds, whatever the timers of the policy say; what is on has all the time that they give it. */
import { runHoles } from './files.ts';

runHoles('asked on suspicion', {
  'power-lost-under-defaults':
    '[EVD-2, EVD-3] a machine without power is let go in seconds by a policy that says nothing',
  'two-lost-under-defaults': '[EVD-2, STM-1] two that die together: neither waits for the other',
  'off-before-its-condition': '[EVD-2] also where the policy waits for Kubernetes to say its word',
  'off-before-its-repair': '[EVD-2] also where the ladder has something milder first',
  'cut-off-under-defaults': '[EVD-2, SAF-7] a machine that says on has the time that the policy gives it',
  'broken-switch': '[STM-1, STM-7] forty machines that say on are a broken switch: nobody is cut',
  'off-said-once': '[EVD-2, FEN-5] what was said once does not bring a cut forward',
  'off-said-before-a-crash': '[EVD-2, FEN-5] nor does it for whoever leads next',
});

runHoles('power that is watched', {
  'watched-power-lost': '[EVD-4] is missed in seconds, although the Lease is not overdue',
  'watched-lying-device': '[EVD-4, SAF-1] is not lost where a kubelet answers, whatever its device says',
  'watched-kubelet-away': '[EVD-4, SAF-18] nor where the machine answers that its kubelet is away',
  'watched-blind': '[EVD-4] is not lost because nobody can see it',
  'watched-outlet': '[EVD-4, SAF-1] nor on the word of an outlet that cannot say whose power it is',
  'off-for-a-moment': '[EVD-4, RET-1] one that said off for a moment, with nothing let go, is not waited for to boot',
  'watched-behind-a-firewall': '[EVD-4] nor because nobody answers where nobody ever has',
  'watched-firewall-later': '[EVD-4] nor where nobody has lately',
  'watched-unreachable': '[EVD-4] S26: nor because the operator has no way to its port',
  'watched-power-lost-behind-a-firewall': '[EVD-4] behind a firewall it is missed when the Lease is overdue',
  'watched-failover': '[EVD-4] whoever leads next finds what is off',
});
