import { createServer, type Server, type Socket } from "node:net";
import type { BytePort, BytePortHandlers } from "./byte-port.ts";

/**
 * Listens like a terminal. One register at a time: the newest connection wins,
 * since a kiosk that lost power leaves a dead one and has to connect again.
 */
export class TcpListener {
  readonly #onPort: (port: BytePort) => void;
  #server: Server | undefined;
  #current: TcpPort | undefined;

  constructor(onPort: (port: BytePort) => void) {
    this.#onPort = onPort;
  }

  /** Begins to listen; answers the port number that was taken. */
  open(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
      this.#server = server;
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        const address = server.address();
        resolve(typeof address === "object" && address ? address.port : port);
      });
    });
  }

  /** Closes the connection and listens no longer. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#current?.close();
    this.#current = undefined;
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  #accept(socket: Socket): void {
    if (!this.#server) {
      socket.destroy();
      return;
    }
    this.#current?.close();
    this.#current = new TcpPort(socket);
    this.#onPort(this.#current);
  }
}

class TcpPort implements BytePort {
  readonly name: string;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.name = `tcp ${socket.remoteAddress ?? "?"}:${socket.remotePort ?? "?"}`;
    this.#socket = socket;
    // A reset is the end of the line like any other; "close" follows.
    socket.on("error", () => {});
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#socket.on("data", data);
    this.#socket.once("close", closed);
    if (this.#socket.destroyed) closed();
  }

  write(bytes: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  close(): void {
    // Bytes written before leave first, then the connection is gone for both sides.
    this.#socket.destroySoon();
  }
}
