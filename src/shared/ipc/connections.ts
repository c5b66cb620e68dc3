import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

interface ConnectionLimits {
  readonly total: number;
  /** The largest number of connections of one source; missing: sources are not distinguished. */
  readonly ofSource?: number;
}

interface Connection {
  readonly source: string;
  /** Whether the sender on this connection has been authenticated. */
  trusted: boolean;
  readonly open: Set<ServerResponse>;
  /** Whether the first response on the connection has ended. */
  ended: boolean;
}

type Held = readonly [socket: Duplex, connection: Connection];

/**
 * The connections of a server, limited in number. A full server closes the oldest unauthenticated
 * connection of the source that has the most of them, else the oldest idle connection. So no source
 * keeps others out, and the newest connection has the longest time to authenticate.
 */
export class Connections {
  readonly #all = new Map<Duplex, Connection>();
  readonly #limits: ConnectionLimits;
  #ending = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Limits and counts the connections of a server from now on. Several servers may be watched. */
  watch(server: Server): void {
    // A connection above the limit is destroyed before it is read: no request can begin on it.
    server.prependListener("connection", (socket: Duplex) => {
      if (!this.admit(socket)) socket.destroy();
    });
    // This listener runs first: a request is registered before another listener can answer it.
    server.prependListener("request", (_request: IncomingMessage, response: ServerResponse) =>
      this.begin(response),
    );
  }

  /** Accepts a connection. false: the server stops, or is full and can close no connection. */
  admit(socket: Duplex & { readonly remoteAddress?: string | undefined }): boolean {
    if (this.#ending) return false;
    const { total, ofSource } = this.#limits;
    const source = ofSource === undefined ? "" : sourceOf(socket.remoteAddress);
    const all = [...this.#all];
    const own = all.filter(([, connection]) => connection.source === source);
    if (ofSource !== undefined && own.length >= ofSource) {
      if (!this.#cutOne(own)) return false;
    } else if (all.length >= total && !this.#cutOne(all)) return false;
    this.#all.set(socket, { source, trusted: false, open: new Set(), ended: false });
    socket.once("close", () => this.#all.delete(socket));
    return true;
  }

  trust(socket: Duplex): void {
    const connection = this.#all.get(socket);
    if (connection) connection.trusted = true;
  }

  begin(response: ServerResponse): void {
    const connection = this.#all.get(response.req.socket);
    if (!connection) return;
    connection.open.add(response);
    response.once("close", () => {
      connection.open.delete(response);
      connection.ended = true;
      if (this.#ending) endWhenDone(response.req.socket, connection);
    });
  }

  /**
   * Ends the connections because the server stops (docs/design.md 9.4). A complete request is
   * answered before its connection ends; every other connection ends now, because Node.js would
   * wait for a request that never arrives.
   */
  end(): void {
    this.#ending = true;
    for (const [socket, connection] of this.#all) endWhenDone(socket, connection);
  }

  of(socket: Duplex): Pick<Connection, "ended"> & { readonly open: ReadonlySet<ServerResponse> } {
    return this.#all.get(socket) ?? { open: new Set(), ended: false };
  }

  /** Closes the oldest connection that may be closed. false: none may be closed. */
  #cutOne(held: readonly Held[]): boolean {
    const [spare] = oldestUnproven(held) ?? held.find(([, { open }]) => open.size === 0) ?? [];
    if (!spare) return false;
    this.#all.delete(spare);
    spare.destroy();
    return true;
  }
}

function endWhenDone(socket: Duplex, { open }: Connection): void {
  if (![...open].some(({ req }) => req.complete)) socket.end(() => socket.destroy());
}

function oldestUnproven(held: readonly Held[]): Held | undefined {
  const bySource = Map.groupBy(
    held.filter(([, { trusted }]) => !trusted),
    ([, { source }]) => source,
  );
  const [most] = [...bySource.values()].sort((one, other) => other.length - one.length);
  return most?.[0];
}

/** Returns the source of an IP address; a whole /64 network of IPv6 is one source. */
export function sourceOf(address = ""): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const groupsOf = (text = ""): string[] => text.split(":").filter((group) => group !== "");
  const [front, back] = address.split("::");
  const [before, after] = [groupsOf(front), groupsOf(back)];
  const zeros = new Array<string>(Math.max(8 - before.length - after.length, 0)).fill("0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
