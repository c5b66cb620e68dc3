import { connect } from "node:net";
import { expect, test } from "vitest";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { merchantForTest } from "../merchant-for-test.ts";
import type { GatewaySandbox } from "../sandbox-for-test.ts";
import {
  elements,
  eventually,
  generate,
  orderRequest,
  sandboxForTest,
  soapRequest,
} from "../sandbox-for-test.ts";

/** Sends a whole request and destroys the connection: at once, or when `until` has resolved. */
function postAndHangUp(
  { port }: GatewaySandbox,
  path: string,
  body: string,
  until: Promise<unknown> = Promise.resolve(),
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", reject);
    socket.on("close", () => resolve());
    const head =
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: text/xml\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    socket.write(head + body, () => void until.then(() => socket.destroy()));
  });
}

test("a client that hangs up before the answer still gets its notifications", async () => {
  const clock = new TestClock();
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({
    autoPay: true,
    clock,
    faults: [{ kind: "latency", delayMs: 700, times: 1 }],
  });
  const order = elements({ ...orderRequest, urlCallback: merchant.url });
  const path = "/soap/payment-v2";
  const waits = eventually(() => clock.running).toEqual(["fault latency"]);
  await postAndHangUp(sandbox, path, soapRequest("payment-v2", "generate", order), waits);
  // The sandbox has seen the end of that connection once it answers on another one.
  await fetch(sandbox.url);
  expect(merchant.received).toEqual([]);
  await clock.advance(700);
  await eventually(() => merchant.received.length).toBe(2);
});

test("a client that hangs up at once still gets the notifications of its order", async () => {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({ autoPay: true });
  const order = elements({ ...orderRequest, urlCallback: merchant.url });
  const body = soapRequest("payment-v2", "generate", order);
  for (let i = 1; i <= 20; i++) {
    await postAndHangUp(sandbox, "/soap/payment-v2", body);
    const stored = sandbox.orders().length;
    await eventually(() => merchant.received.length).toBeGreaterThanOrEqual(2 * stored);
  }
  await eventually(() => sandbox.orders().length).toBeGreaterThan(0);
});

test("an operator's program that hangs up still gets the notification of its request", async () => {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({ autoPay: true });
  await generate(sandbox, { urlCallback: merchant.url });
  await eventually(() => merchant.received.length).toBe(2);
  const id = sandbox.orders()[0]?.transactionPublicId;
  await postAndHangUp(sandbox, `/sandbox/orders/${id}/refund`, "");
  await eventually(() => sandbox.orders()[0]?.state).toBe("refunded");
  await eventually(() => merchant.received.length).toBe(3);
});
