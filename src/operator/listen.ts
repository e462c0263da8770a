/** An HTTP server that listens or says why not, and that ends without waiting for whoever holds a connection open. */
import type http from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers the port; rejects if the address is taken. */
export async function listenOn(server: http.Server, address: { host?: string; port: number }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

export async function closeNow(server: http.Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
