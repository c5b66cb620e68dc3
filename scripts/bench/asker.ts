import { connect } from "node:net";

/**
 * Asks for one path again and again over one raw socket: a client of `node:http` has more to do for
 * a request than either server.
 */
export class Asker {
  readonly #socket;
  readonly #question: string;
  readonly #isStream: boolean;
  #got = "";
  #end = Promise.withResolvers<void>();

  constructor({ port, path }: { port: number; path: string }, password: string) {
    const authorization = `Basic ${btoa(`kiosk:${password}`)}`;
    const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
    this.#question = `${[...lines, `Authorization: ${authorization}`].join("\r\n")}\r\n\r\n`;
    this.#isStream = path === "/events";
    this.#socket = connect({ host: "127.0.0.1", port, noDelay: true }).setEncoding("latin1");
    this.#socket.on("data", (text) => {
      this.#got += text;
      if (this.#isStream ? this.#got.includes("event: terminal") : isWhole(this.#got)) {
        this.#end.resolve();
        this.#got = "";
      }
    });
    this.#socket.on("close", () => this.#end.reject(new Error(`ended: ${this.#got}`)));
  }

  /** Sends one request and resolves with its complete answer, which must be a success. */
  ask(): Promise<void> {
    this.#end = Promise.withResolvers<void>();
    this.#socket.write(this.#question);
    return this.#end.promise;
  }

  close(): void {
    this.#socket.removeAllListeners("close").destroy();
  }
}

function isWhole(text: string): boolean {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0 || !text.startsWith("HTTP/1.1 200 ")) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return text.length === head + 4 + Number(length);
}
