/** Only reads a kubeconfig. Prints "ready" when it has. */
import { KubeConfig } from '@kubernetes/client-node';

const config = new KubeConfig();
config.loadFromFile(process.argv[2]);
console.log('ready', config.getCurrentCluster().server.length > 0);
setInterval(() => {}, 60_000);
