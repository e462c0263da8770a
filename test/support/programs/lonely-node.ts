/** Starts a real node that finds no API server, says so, and goes on until it is killed. For one test. */
import { ensureNodePrograms } from '../../../control-plane/build.ts';
import { NodeNetwork } from '../real-node/network.ts';
import { RealNode } from '../real-node/real-node.ts';
import { VirtualNode } from '../real-node/virtual-node.ts';

const [logDir = '', kind] = process.argv.slice(2);
const network = await NodeNetwork.make();
const storage = { network: await NodeNetwork.make('storage'), port: 9 };
const Node = kind === 'virtual' ? VirtualNode : RealNode;
await Node.start({
  name: 'lonely',
  binaries: await ensureNodePrograms(),
  network,
  api: { port: 9, caPem: '', token: '' },
  logDir,
  storage,
});
console.log('running');
setInterval(() => {}, 60_000);
