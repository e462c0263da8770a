/** Hands connections on, byte by byte: forward.ts HOST PORT TO-HOST TO-PORT. */
import { connect, createServer } from 'node:net';

const [host = '', port = '', toHost = '', toPort = ''] = process.argv.slice(2);
createServer((near) => {
  const far = connect(Number(toPort), toHost);
  // An end that breaks off takes the other one with it.
  near.on('error', () => far.destroy()).on('close', () => far.destroy());
  far.on('error', () => near.destroy()).on('close', () => near.destroy());
  near.pipe(far).pipe(near);
}).listen(Number(port), host);
