import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** On both loopback addresses together; one kiosk needs a handful. */
const CONNECTIONS_MAX = 256;

interface Connection {
  /** Right credentials came over it. */
  trusted: boolean;
  /** Requests whose answer has not ended. */
  readonly open: Set<ServerResponse>;
  /** A first answer has ended. */
  ended: boolean;
}

/**
 * The connections of the local API. Their number is limited, and whoever holds many of them cannot
 * keep the kiosk out: to make room the oldest is cut over which no right credentials have come,
 * else the oldest that waits for nothing. A newcomer has the longest time to show its credentials.
 */
export class Connections {
  readonly #all = new Map<Duplex, Connection>();
  readonly #max: number;

  constructor(max = CONNECTIONS_MAX) {
    this.#max = max;
  }

  get size(): number {
    return this.#all.size;
  }

  /** False when every other connection carries out a request of somebody trusted. */
  admit(socket: Duplex): boolean {
    if (this.#all.size >= this.#max) {
      const [spare] = this.#spare() ?? [];
      if (!spare) return false;
      this.#all.delete(spare);
      spare.destroy();
    }
    this.#all.set(socket, { trusted: false, open: new Set(), ended: false });
    socket.once("close", () => this.#all.delete(socket));
    return true;
  }

  trust(socket: Duplex): void {
    const connection = this.#all.get(socket);
    if (connection) connection.trusted = true;
  }

  /** A request has begun. */
  begin(response: ServerResponse): void {
    const connection = this.#all.get(response.req.socket);
    if (!connection) return;
    connection.open.add(response);
    response.once("close", () => {
      connection.open.delete(response);
      connection.ended = true;
    });
  }

  of(socket: Duplex): Pick<Connection, "ended"> & { readonly open: ReadonlySet<ServerResponse> } {
    return this.#all.get(socket) ?? { open: new Set(), ended: false };
  }

  /** In the order in which they came. */
  #spare(): [Duplex, Connection] | undefined {
    const all = [...this.#all];
    const idle = ([, { open }]: [Duplex, Connection]): boolean => open.size === 0;
    return all.find(([, { trusted }]) => !trusted) ?? all.find(idle);
  }
}
