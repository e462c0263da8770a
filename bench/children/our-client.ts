/** Our own client: reads a kubeconfig and is ready to make calls. Prints "ready" when it is. */
import { realClock } from '../../src/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import { loadConnection } from '../../src/kube/kubeconfig.ts';

const connection = await loadConnection({
  overrides: { kubeconfig: process.argv[2] ?? '' },
  env: {},
  home: '/nonexistent',
  clock: realClock,
  stdinIsTerminal: false,
});
const client = new KubeClient({
  transport: new HttpTransport(connection, realClock),
  clock: realClock,
  userAgent: 'fenceline-bench',
  fieldManager: 'fenceline-bench',
});
console.log('ready', typeof client.get === 'function');
setInterval(() => {}, 60_000);
