/** Reads what the console streams, as its page does: everything first, then what has changed. */
import * as http from 'node:http';
import type { HeadPicture, News, NodePage, NodePicture } from '../../src/console/picture.ts';
import type { MachineSnapshot, StagePicture } from '../../src/console/snapshot.ts';

export class ConsoleStream implements Disposable {
  readonly parts = new Map<string, unknown>();
  readonly #response: http.IncomingMessage;
  /** How often news came. */
  news = 0;
  /** Until when it is true, by the clock of the API server. */
  at = 0;

  private constructor(response: http.IncomingMessage) {
    this.#response = response;
    let text = '';
    response.on('error', () => {});
    response.on('data', (chunk) => {
      const messages = (text + String(chunk)).split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) this.#take(JSON.parse(message.replace('data: ', '')) as News);
    });
  }

  static async open(url: URL, page = 'now', headers: http.OutgoingHttpHeaders = {}): Promise<ConsoleStream> {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get(new URL(`events?page=${encodeURIComponent(page)}`, url), { headers }, resolve).once('error', reject);
    });
    return new ConsoleStream(response);
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }

  get head(): HeadPicture | undefined {
    return this.parts.get('head') as HeadPicture | undefined;
  }

  get page(): NodePage | undefined {
    return this.parts.get('page') as NodePage | undefined;
  }

  get story(): string[] {
    return (this.parts.get('stage') as StagePicture | undefined)?.story.map(({ text }) => text) ?? [];
  }

  get nodes(): NodePicture[] {
    return this.#all<NodePicture>('node/');
  }

  get machines(): MachineSnapshot[] {
    return this.#all<MachineSnapshot>('machine/');
  }

  node(name: string): NodePicture | undefined {
    return this.parts.get(`node/${name}`) as NodePicture | undefined;
  }

  machine(name: string): MachineSnapshot | undefined {
    return this.parts.get(`machine/${name}`) as MachineSnapshot | undefined;
  }

  [Symbol.dispose](): void {
    this.#response.destroy();
  }

  #all<T>(prefix: string): T[] {
    return [...this.parts].flatMap(([name, part]) => (name.startsWith(prefix) ? [part as T] : []));
  }

  #take({ at, set, gone }: News): void {
    this.news += 1;
    this.at = Date.parse(at);
    for (const [name, part] of Object.entries(set)) this.parts.set(name, part);
    for (const name of gone) this.parts.delete(name);
  }
}
