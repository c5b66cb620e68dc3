import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asSlow } from "../support/clocks/patience.ts";
import { until } from "../support/programs/child-program.ts";
import type { TestInstallation } from "../support/programs/installation.ts";
import { captured, notifiedInstallation, type OrderRead } from "./captured-order.ts";

/**
 * A refund whose programs die between the reservation and the answer
 * (docs/rules/35-gateway-returns.md): nothing is sent again, nothing is forgotten, and the
 * reservation ends only with the truth. All tests have one installation, each an order of its own.
 */

let at: TestInstallation;
beforeAll(async () => {
  at = await notifiedInstallation();
});
afterAll(() => at?.stop());

const isStatus = (status: string, read: () => Promise<OrderRead>) =>
  until(`the order is ${status}`, async () => (await read()).status === status || undefined);

describe("both programs are killed while the gateway has the refund", () => {
  test("that it carried out: unknown, and settled by the notification's repetition", async () => {
    const { read, order, refund, fault, hanging, ...rest } = await captured(at, "A-1");
    const { hasten, booked, killBoth, startBoth } = rest;
    await fault("hang-after-commit");
    const asked = refund().catch(() => "the connection broke");
    await hanging();
    await killBoth();
    expect(await asked).toBe("the connection broke");
    await startBoth();
    const again = await refund();
    // Either the notification's repetition has come already, or nothing may be sent meanwhile.
    expect(["GATEWAY_OPERATION_OPEN", "ORDER_REVERSED"]).toContain(again.one.error?.code);
    const hastened = async () => {
      await hasten();
      return await read();
    };
    await isStatus("Reversed", hastened);
    expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
    expect(await booked()).toEqual(["charge"]);
  });

  test("that it did not carry out: open until an operator says so", async () => {
    const { read, order, refund, settle, fault, hanging, ...rest } = await captured(at, "A-2");
    const { booked, killBoth, startBoth } = rest;
    await fault("hang-before-commit");
    const asked = refund().catch(() => undefined);
    await hanging();
    await killBoth();
    await asked;
    await startBoth();
    await at.connected();
    expect(await read()).toMatchObject({ status: "Success", warnings: [expect.any(String)] });
    expect((await refund()).one.error?.code).toBe("GATEWAY_OPERATION_OPEN");
    const reversal = await at.call("POST", "/reversal", { orderId: "A-2" });
    expect(reversal.one.error?.code).toBe("GATEWAY_OPERATION_OPEN");
    expect(await order()).toMatchObject({ state: "captured", refundedAmount: "0.00" });
    expect((await settle(false)).http).toBe(200);
    expect((await read()).status).toBe("Success");
    expect((await refund()).http).toBe(200);
    expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
    expect(await booked()).toEqual(["charge"]);
  });
});

test("tp-manager is killed while the gateway works: the next start learns the end", async () => {
  const { read, order, refund, fault, hanging, booked } = await captured(at, "A-3");
  await fault("latency", asSlow(1_000));
  const asked = refund().catch(() => undefined);
  await hanging();
  await at.tpManager?.end("SIGKILL");
  await asked;
  await at.startTpManager();
  await isStatus("Reversed", read);
  expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
  expect((await refund()).one.error?.code).toBe("ORDER_REVERSED");
  expect(await booked()).toEqual(["charge"]);
});
