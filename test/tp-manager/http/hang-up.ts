import type { Socket } from "node:net";
import { approves, type PayScript } from "../../support/terminals/scripted-terminal.ts";
import type { listening } from "./listening.ts";
import { authorization } from "./rig.ts";

/** A kiosk that asks for `payment` and is gone, for certain, before the terminal approves it. */
export async function hangUpDuring(
  payment: object,
  { app, at, port, raw }: Awaited<ReturnType<typeof listening>>,
): Promise<void> {
  const cut = Promise.withResolvers<void>();
  app.server.once("connection", (socket: Socket) => socket.once("close", () => cut.resolve()));
  const begun = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const slow: PayScript = async (order, observer) => {
    begun.resolve();
    await goesOn.promise;
    return approves(order, observer);
  };
  at.terminal.script = slow;
  const body = JSON.stringify(payment);
  const head = [
    "POST /payment HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    `Authorization: ${authorization}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  const { socket } = raw([...head, "", body].join("\r\n"));
  await begun.promise;
  socket.destroy();
  // What is written from now on reaches nobody.
  await cut.promise;
  goesOn.resolve();
}
