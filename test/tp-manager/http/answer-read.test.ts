import type { Socket } from "node:net";
import { expect, test } from "vitest";
import type { PayScript } from "../../support/scripted-terminal.ts";
import { approves } from "../../support/scripted-terminal.ts";
import { listening } from "./listening.ts";
import { authorization } from "./rig.ts";

const body = JSON.stringify({ amount: 9.99 });
const head = (port: number): string =>
  [
    "POST /payment HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    `Authorization: ${authorization}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");

test("a sale without an order id whose answer was not written is not made again", async () => {
  const { app, at, port, raw, get } = await listening();
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
  const { socket } = raw(head(port));
  await begun.promise;
  socket.destroy();
  // The kiosk is gone for certain: what is written from now on reaches nobody.
  await cut.promise;
  goesOn.resolve();
  const [attempt] = at.journal.attempts.unfinished();
  const orderId = attempt?.request.orderId ?? "";
  const phase = (): string | undefined => at.journal.attempts.latest(orderId)?.state.phase;
  await expect.poll(phase).toBe("charged");
  const again = await get("/payment", {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  expect(again.status).toBe(409);
  expect(await again.json()).toMatchObject([{ error: { code: "ANSWER_NOT_DELIVERED" } }]);
  expect(at.terminal.paid).toHaveLength(1);
});
