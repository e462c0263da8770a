/** A TCP proxy that does to connections what networks do: cuts them, loses them silently, or lets them crawl. */
import * as net from 'node:net';

export class FaultProxy implements AsyncDisposable {
  readonly #server: net.Server;
  readonly #targetPort: number;
  readonly #pairs = new Set<Pair>();
  #bytesPerSecond = Infinity;
  #accepted = 0;
  #down = false;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = net.createServer((client) => this.#accept(client));
  }

  static async start(targetPort: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  get accepted(): number {
    return this.#accepted;
  }

  /** Resets every open connection; new ones work. */
  reset(): void {
    for (const pair of this.#pairs) pair.destroy();
  }

  /** Resets every connection, new ones too, until `up`. */
  down(): void {
    this.#down = true;
    this.reset();
  }

  up(): void {
    this.#down = false;
  }

  /** Open connections stay open and carry nothing any more, in either direction; new ones work. */
  blackhole(): void {
    for (const pair of this.#pairs) pair.silence();
  }

  /** What the server sends comes through at this rate from now on, on open and new connections. */
  throttle(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: net.Socket): void {
    if (this.#down) {
      client.resetAndDestroy();
      return;
    }
    this.#accepted += 1;
    const pair = new Pair(client, net.connect(this.#targetPort, '127.0.0.1'), () => this.#bytesPerSecond);
    this.#pairs.add(pair);
    pair.onEnd(() => this.#pairs.delete(pair));
  }
}

class Pair {
  readonly #client: net.Socket;
  readonly #server: net.Socket;
  readonly #rate: () => number;
  #silent = false;

  constructor(client: net.Socket, server: net.Socket, rate: () => number) {
    this.#client = client;
    this.#server = server;
    this.#rate = rate;
    client.on('error', () => this.destroy());
    server.on('error', () => this.destroy());
    client.on('end', () => this.#silent || server.end());
    server.on('end', () => this.#silent || client.end());
    client.on('data', (chunk) => this.#silent || server.write(chunk));
    server.on('data', (chunk) => this.#toClient(chunk));
  }

  onEnd(callback: () => void): void {
    this.#client.once('close', callback);
  }

  silence(): void {
    this.#silent = true;
  }

  destroy(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  #toClient(chunk: Buffer): void {
    if (this.#silent) return;
    this.#client.write(chunk);
    const delayMs = (chunk.length / this.#rate()) * 1000;
    if (delayMs < 1) return;
    // While nothing is read here, the server's own buffers fill up, as with any slow reader.
    this.#server.pause();
    setTimeout(() => this.#server.resume(), delayMs).unref();
  }
}
