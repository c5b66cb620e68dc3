import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import {
  generate,
  type IConnectPacket,
  type IPublishPacket,
  type Packet,
  parser,
} from "mqtt-packet";
import { onTestFinished } from "vitest";
import { freePort } from "../../support/programs/installation.ts";

/** What the broker does with the next connections. */
export interface BrokerHabits {
  /** Reason code of CONNACK; 0 accepts. */
  refuse: number;
  /** Ends each connection in place of an acceptance. */
  closes: boolean;
  /** Takes connections and says nothing. */
  silent: boolean;
  /** Sends no PUBACK. */
  holdsBack: boolean;
  /** Reason code of PUBACK. */
  answer: number;
  receiveMaximum: number;
  /** Comes with the acceptance, as what a kept session held. */
  following: Packet | undefined;
  /** These bytes come in place of the acceptance. */
  opening: Buffer | undefined;
}

/** An MQTT broker that does what a test says, on a real socket. One kiosk at a time. */
export class ScriptedBroker {
  readonly habits: BrokerHabits = {
    refuse: 0,
    closes: false,
    silent: false,
    holdsBack: false,
    answer: 0,
    receiveMaximum: 16,
    following: undefined,
    opening: undefined,
  };
  readonly connects: IConnectPacket[] = [];
  readonly published: IPublishPacket[] = [];
  readonly subscribed: string[] = [];
  readonly farewells: number[] = [];
  /** Of connections that ended without a farewell. */
  readonly wills: string[] = [];
  #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Of MQTT, as the last connection named it. */
  readonly #version = { protocolVersion: 5 };
  #port = 0;
  pings = 0;

  constructor() {
    this.#server = this.#made();
    onTestFinished(() => this.down());
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.#port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  async up(): Promise<void> {
    // Of those that nobody else is given: it comes back to the same one.
    this.#port ||= await freePort();
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** Ends the connections, and takes new ones. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async down(): Promise<void> {
    this.drop();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
    this.#server = this.#made();
  }

  send(packet: Packet): void {
    for (const socket of this.#sockets) socket.write(generate(packet, this.#version));
  }

  /** Whatever these bytes are. */
  write(bytes: Buffer): void {
    for (const socket of this.#sockets) socket.write(bytes);
  }

  request(topic: string, document: object, retain = false): void {
    const payload = JSON.stringify(document);
    this.send({ cmd: "publish", topic, payload, qos: 1, messageId: 7, retain, dup: false });
  }

  /** The documents of a topic's last level, read. */
  documents(name: string): Record<string, unknown>[] {
    return this.published
      .filter(({ topic }) => topic.endsWith(`/${name}`))
      .map(({ payload }) => JSON.parse(payload.toString()));
  }

  #made(): Server {
    return createServer((socket) => {
      this.#sockets.add(socket);
      const read = parser(this.#version);
      let will: string | undefined;
      read.on("packet", (packet: Packet) => {
        if (packet.cmd === "connect") {
          this.#version.protocolVersion = packet.protocolVersion ?? 5;
        }
        if (packet.cmd === "connect") will = packet.will?.payload.toString();
        if (packet.cmd === "disconnect") will = undefined;
        this.#take(packet, socket);
      });
      socket.on("data", (bytes) => void read.parse(bytes));
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        if (will !== undefined) this.wills.push(will);
      });
    });
  }

  #take(packet: Packet, socket: Socket): void {
    const { refuse, closes, silent, holdsBack, answer, receiveMaximum, following, opening } =
      this.habits;
    const say = (out: Packet): void => void socket.write(generate(out, this.#version));
    if (packet.cmd === "connect") {
      this.connects.push(packet);
      if (closes) return void socket.end();
      if (opening) socket.write(opening);
      if (silent || opening) return;
      const properties = { receiveMaximum };
      const codes = { reasonCode: refuse, returnCode: refuse };
      say({ cmd: "connack", ...codes, sessionPresent: false, properties });
      if (following) say(following);
      if (refuse !== 0) socket.end();
    }
    if (packet.cmd === "publish") {
      this.published.push(packet);
      if (holdsBack || packet.qos !== 1) return;
      say({ cmd: "puback", messageId: packet.messageId ?? 0, reasonCode: answer });
    }
    if (packet.cmd === "subscribe") {
      this.subscribed.push(...packet.subscriptions.map(({ topic }) => topic));
      say({ cmd: "suback", messageId: packet.messageId ?? 0, granted: [1] });
    }
    if (packet.cmd === "pingreq") {
      this.pings++;
      if (!silent) say({ cmd: "pingresp" });
    }
    if (packet.cmd === "disconnect") this.farewells.push(packet.reasonCode ?? 0);
  }
}
