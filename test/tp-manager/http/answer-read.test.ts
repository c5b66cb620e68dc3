import { expect, test } from "vitest";
import { hangUpDuring } from "./hang-up.ts";
import { listening } from "./listening.ts";

test("a sale without an order id whose answer was not written is not made again", async () => {
  const site = await listening();
  const { at, get } = site;
  const payment = { amount: 9.99 };
  await hangUpDuring(payment, site);
  const [attempt] = at.journal.attempts.unfinished();
  const orderId = attempt?.request.orderId ?? "";
  const phase = (): string | undefined => at.journal.attempts.decisive(orderId)?.state.phase;
  await expect.poll(phase).toBe("charged");
  const again = await get("/payment", {
    method: "POST",
    body: JSON.stringify(payment),
    headers: { "content-type": "application/json" },
  });
  expect(again.status).toBe(409);
  expect(await again.json()).toMatchObject([{ error: { code: "ANSWER_NOT_DELIVERED" } }]);
  expect(at.terminal.paid).toHaveLength(1);
});
