import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { generate, type IConnackPacket, type Packet, parser } from "mqtt-packet";
import { pans } from "./ways-in.ts";

interface Manners {
  /** Sends no PUBACK, so that the kiosk keeps its documents. */
  readonly hangs?: boolean;
  /** Refuses the first connection, and sends requests on the next, all with a card number. */
  readonly isRude?: boolean;
}

/** A broker of a fleet that keeps every byte which it gets, and sends card numbers of its own. */
export async function fleetBroker(port: number, { hangs, isRude }: Manners = {}) {
  const received: Buffer[] = [];
  const counts: Record<string, number> = {};
  const sockets = new Set<Socket>();
  const reasonString = `card ${pans.fleet}`;
  const properties = { reasonString, userProperties: { card: pans.fleet } };
  let isRefused = isRude === true;
  const answersTo = (packet: Packet): readonly Packet[] => {
    if (packet.cmd === "connect") {
      const accepted = { cmd: "connack", sessionPresent: false, reasonCode: 0 } as const;
      const answer: IConnackPacket = isRefused ? { ...accepted, reasonCode: 0x87 } : accepted;
      isRefused = false;
      return [{ ...answer, properties }];
    }
    const messageId = packet.messageId ?? 0;
    if (packet.cmd === "publish") {
      const name = packet.topic.split("/").at(-1) ?? "";
      counts[name] = (counts[name] ?? 0) + 1;
      return hangs ? [] : [{ cmd: "puback", messageId, reasonCode: 0, properties }];
    }
    if (packet.cmd === "subscribe") {
      const [{ topic } = { topic: "" }] = packet.subscriptions;
      const requests = isRude ? [...requestsWith(pans.fleet)] : [];
      return [
        { cmd: "suback", messageId, granted: [1] },
        ...requests.map((payload, at) => {
          const message = { topic, payload, qos: 1, messageId: at + 1 } as const;
          return { cmd: "publish", ...message, retain: false, dup: false, properties } as const;
        }),
      ];
    }
    return packet.cmd === "pingreq" ? [{ cmd: "pingresp" }] : [];
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    const read = parser({ protocolVersion: 5 });
    read.on("packet", (packet: Packet) => {
      for (const answer of answersTo(packet))
        socket.write(generate(answer, { protocolVersion: 5 }));
    });
    socket.on("data", (bytes) => {
      received.push(bytes);
      read.parse(bytes);
    });
    socket.on("error", () => {});
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `mqtt://127.0.0.1:${port}`, counts, bytes: () => Buffer.concat(received), close };
}

/** Requests with a card number in each member, and one that is accepted. */
function* requestsWith(pan: string): Generator<string> {
  const expires = new Date(Date.now() + 3_600_000).toISOString();
  const good = { version: 1, id: randomUUID(), ask: "state", expires };
  yield pan;
  for (const name of ["version", "id", "ask", "expires", "days", pan]) {
    yield JSON.stringify({ ...good, id: randomUUID(), [name]: pan });
    yield JSON.stringify({ ...good, id: randomUUID(), [name]: { card: [pan] } });
  }
  yield JSON.stringify({ ...good, ask: "hold-updates", version: pan, days: Number(pan) });
  yield JSON.stringify(good);
}
