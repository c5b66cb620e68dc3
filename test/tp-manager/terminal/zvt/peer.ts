import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { systemClock } from "../../../../src/shared/time.ts";
import type * as bytes from "../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import { createTransport } from "../../../../src/tp-manager/terminal/transport/open-transport.ts";
import {
  encodeFrame,
  FrameReader,
} from "../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { ApduReader, encodeApdu, fromHex, toHex } from "../../../../src/zvt/index.ts";
import { openPtyLine } from "../transport/pty-line.ts";

/** A terminal that does exactly what a test says, over a real socket or a real line. */
export class Peer {
  readonly transport: bytes.ByteTransport;
  /** Everything the register sent, ACK and NAK bytes included on a serial line. */
  readonly log: string[] = [];
  /** Serial: it sends ACK by itself. */
  sendsAck = true;
  readonly #write: (bytes: Uint8Array) => void;
  readonly #serial: boolean;
  readonly #drop: () => void;
  readonly #end: () => Promise<void>;
  readonly #arrived: string[] = [];
  #waiting: ((apdu: string) => void) | undefined;

  constructor(carrier: {
    transport: bytes.ByteTransport;
    write: (bytes: Uint8Array) => void;
    drop: () => void;
    end: () => Promise<void>;
  }) {
    this.transport = carrier.transport;
    this.#serial = carrier.transport.kind === "serial";
    this.#write = carrier.write;
    this.#drop = carrier.drop;
    this.#end = carrier.end;
  }

  /** The next APDU of the register, in hexadecimal. */
  next(): Promise<string> {
    const apdu = this.#arrived.shift();
    if (apdu !== undefined) return Promise.resolve(apdu);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Asserts what comes next; a pattern may leave bytes open. */
  async expect(expected: string | RegExp): Promise<string> {
    const apdu = await this.next();
    const isExpected = typeof expected === "string" ? apdu === bare(expected) : expected.test(apdu);
    if (!isExpected) throw new Error(`expected ${expected}, the register sent ${apdu}`);
    return apdu;
  }

  send(...apdus: string[]): void {
    for (const apdu of apdus) {
      const bytes = fromHex(bare(apdu));
      this.#write(this.#serial ? encodeFrame(bytes) : bytes);
    }
  }

  /** Bytes as they are: ACKs, noise, broken frames. */
  sendRaw(hex: string): void {
    this.#write(fromHex(bare(hex)));
  }

  /** Sends a message and waits for the register's 80 00 00. */
  async deliver(...apdus: string[]): Promise<void> {
    for (const apdu of apdus) {
      this.send(apdu);
      await this.expect("800000");
    }
  }

  /** Breaks the connection; the register may come again. */
  drop(): void {
    this.#drop();
  }

  async close(): Promise<void> {
    await this.#end();
  }

  received(apdu: string): void {
    this.log.push(apdu);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) waiting(apdu);
    else this.#arrived.push(apdu);
  }

  /** Whether the register has sent something that nobody asked for. */
  get pending(): readonly string[] {
    return this.#arrived;
  }
}

function bare(hex: string): string {
  return hex.replaceAll(" ", "");
}

export async function tcpPeer(): Promise<Peer> {
  // A terminal does not hold its short messages back either.
  const server = createServer({ noDelay: true });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  let socket: Socket | undefined;
  const peer = new Peer({
    transport: createTransport(
      `tcp://127.0.0.1:${port}`,
      { baudRate: 9600, stopBits: 2 },
      systemClock,
    ),
    write: (bytes) => socket?.write(bytes),
    drop: () => socket?.destroy(),
    end: async () => {
      socket?.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  server.on("connection", (connection) => {
    socket = connection;
    const reader = new ApduReader();
    connection.on("error", () => {});
    connection.on("data", (bytes) => {
      for (const event of reader.push(bytes)) {
        if (event.event === "apdu") peer.received(toHex(encodeApdu(event.apdu)));
      }
    });
  });
  return peer;
}

export async function serialPeer(): Promise<Peer> {
  const line = await openPtyLine();
  const peer = new Peer({
    transport: createTransport(line.path, { baudRate: 9600, stopBits: 2 }, systemClock),
    write: (bytes) => line.write(bytes),
    drop: () => line.unplug(),
    end: () => Promise.resolve(line.unplug()),
  });
  const reader = new FrameReader();
  line.onData((bytes) => {
    for (const event of reader.push(bytes)) {
      if (event.event === "ack" || event.event === "nak") peer.log.push(event.event);
      if (event.event !== "frame") continue;
      if (peer.sendsAck) peer.sendRaw("06");
      peer.received(toHex(event.apdu));
    }
  });
  return peer;
}

/** An APDU with the right length byte, from one written with any. */
export function withLength(hex: string): string {
  const bytes = hex.replaceAll(" ", "");
  const data = bytes.slice(6);
  return bytes.slice(0, 4) + (data.length / 2).toString(16).padStart(2, "0") + data;
}

export const terminalId = "52523535";

/** A status completion: ready, terminal id, device name, version and serial, a clock. */
export function statusCompletion(status = "00", moreTags = ""): string {
  const device = "e418 1f4004 54455354 1f4103 312e30 1f4204 12345678 1f430100".replaceAll(" ", "");
  const clock = "340d 1f0e04 20260115 1f0f03 120000".replaceAll(" ", "");
  const tags = `1f4404${terminalId}${device}${clock}${moreTags}`;
  const length = (tags.length / 2).toString(16).padStart(2, "0");
  const data = `${status}06${length}${tags}`;
  return `060f${(data.length / 2).toString(16).padStart(2, "0")}${data}`;
}

/** Plays the terminal's side of connecting: registration, status, last transaction. */
export async function introduce(peer: Peer, last: readonly string[] = []): Promise<void> {
  await peer.expect(/^0600/);
  peer.send("800000");
  await peer.deliver(`060f 0a 1910 29${terminalId} 490978`);
  await peer.expect("050105 000000 0306");
  peer.send("800000");
  await peer.deliver(statusCompletion());
  await repeatReceipt(peer, last);
}

/** Answers one Repeat Receipt with these messages. */
export async function repeatReceipt(peer: Peer, last: readonly string[]): Promise<void> {
  await peer.expect("062005 000000 0303");
  peer.send("800000");
  await peer.deliver(...last, "060f00");
}
