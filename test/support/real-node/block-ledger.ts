/** What a storage server has carried out: connections, and the writes of each, in the order in which they happened. */

export interface Connection {
  readonly id: number;
  /** The machine, by the address that it comes from. */
  readonly from: string;
  readonly volume: string;
  readonly openedAt: Date;
  closedAt?: Date;
}

export interface Write {
  readonly connection: Connection;
  readonly at: Date;
  readonly offset: number;
  readonly length: number;
}

/** A connection that wrote after another one, which had taken its place, had begun to. */
export interface TwoWriters {
  readonly volume: string;
  readonly late: Write;
  readonly since: Write;
}

export class BlockLedger {
  readonly connections: Connection[] = [];
  readonly writes: Write[] = [];
  readonly complaints: string[] = [];

  open(from: string, volume: string): Connection {
    const connection = { id: this.connections.length + 1, from, volume, openedAt: new Date() };
    this.connections.push(connection);
    return connection;
  }

  close(connection: Connection): void {
    connection.closedAt = new Date();
  }

  write(connection: Connection, offset: number, length: number): void {
    this.writes.push({ connection, at: new Date(), offset, length });
  }

  complain(error: unknown): void {
    this.complaints.push(String(error));
  }

  /** Machines that have the volume open now. */
  openFrom(volume: string): string[] {
    const open = this.connections.filter((one) => one.volume === volume && one.closedAt === undefined);
    return open.map(({ from }) => from);
  }

  /**
   * The first write of each connection that has one where there may be none: once a connection has written, an older one must not
   * write again. A file system on a volume has one owner at a time, and whoever comes back has to open it anew.
   */
  twoWriters(since = 0): TwoWriters[] {
    const newest = new Map<string, Write>();
    const found = new Map<Connection, TwoWriters>();
    for (const write of this.writes.slice(since)) {
      const { connection } = write;
      const before = newest.get(connection.volume);
      if (before === undefined || before.connection.id < connection.id) newest.set(connection.volume, write);
      else if (before.connection !== connection && !found.has(connection)) {
        found.set(connection, { volume: connection.volume, late: write, since: before });
      }
    }
    return [...found.values()];
  }
}
