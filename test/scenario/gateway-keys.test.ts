import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeStore } from "../support/house/two-stores.ts";
import { until } from "../support/programs/child-program.ts";
import type { Answer, TestInstallation } from "../support/programs/installation.ts";
import { captured, notifiedInstallation } from "./captured-order.ts";

/**
 * A kiosk that lost the answer of a refund asks again (docs/rules/26-return-keys.md): with its key
 * it gets the same answer, whatever died meanwhile, and without one a part is not refunded twice
 * unawares. All tests have one installation, each an order of its own.
 */

let at: TestInstallation;
beforeAll(async () => {
  at = await notifiedInstallation();
});
afterAll(() => at?.stop());

const coded = ({ http, one }: Answer) => [http, one.status, one.error?.code];
const isUnknown = [504, "Unknown", "GATEWAY_OPERATION_UNKNOWN"];

test("a refund whose answer was lost is unknown, and its order stays charged", async () => {
  const { read, refund, fault, settle } = await captured(at, "A-1");
  await fault("reset-before-commit");
  const lost = await refund({ amount: 2 });
  expect([...coded(lost), lost.one.error?.charged]).toEqual([...isUnknown, "yes"]);
  const { status, warnings } = await read();
  expect([status, warnings]).toEqual(["Success", [expect.stringContaining("a refund of 2")]]);
  expect((await settle(false)).http).toBe(200);
});

test("without a key an equal part is refunded again only when the caller says so", async () => {
  const { order, refund } = await captured(at, "A-2");
  expect((await refund({ amount: 2 })).http).toBe(200);
  const repeated = await refund({ amount: 2 });
  expect(coded(repeated)).toEqual([409, "Failed", "REFUND_REPEATED"]);
  expect(await order()).toMatchObject({ refundedAmount: "2.00" });
  expect((await refund({ amount: 2, again: true })).http).toBe(200);
  expect((await refund({ amount: 1 })).http).toBe(200);
  expect(await order()).toMatchObject({ refundedAmount: "5.00" });
});

describe("a refund with a key", () => {
  test("is made once, although asked for at once, later and after a restart", async () => {
    const { order, refund, killBoth, startBoth } = await captured(at, "A-3");
    const ask = () => refund({ amount: 2, idempotencyKey: "key 3" });
    const [first, second] = await Promise.all([ask(), ask()]);
    expect([first?.http, second?.http]).toEqual([200, 200]);
    expect(second?.one).toEqual(first?.one);
    await killBoth();
    await startBoth();
    expect((await ask()).one).toEqual(first?.one);
    for (const body of [{ amount: 1 }, {}, { orderId: "A-2", amount: 2 }]) {
      const other = await refund({ ...body, idempotencyKey: "key 3" });
      expect(coded(other)).toEqual([409, "Failed", "IDEMPOTENCY_KEY_REUSED"]);
    }
    expect(await order()).toMatchObject({ refundedAmount: "2.00" });
  });

  test("is unknown when the supervisor is killed at work, until it is settled", async () => {
    const { order, refund, settle, fault, hanging } = await captured(at, "A-4");
    const ask = () => refund({ amount: 2, idempotencyKey: "key 4" });
    await fault("hang-before-commit");
    const asked = ask();
    await hanging();
    await at.supervisor?.end("SIGKILL");
    const lost = await asked;
    await at.startSupervisor();
    const again = await ask();
    expect([coded(lost), coded(again)]).toEqual([isUnknown, isUnknown]);
    const { operationId } = again.one.error?.details ?? {};
    expect(operationId).toBe(lost.one.error?.details["operationId"]);
    expect(coded(await refund({ amount: 2, again: true }))).toEqual([
      409,
      "Failed",
      "GATEWAY_OPERATION_OPEN",
    ]);
    expect((await settle(true)).http).toBe(200);
    expect((await ask()).one).toMatchObject({ status: "Success", operationId, amount: 2 });
    expect(await order()).toMatchObject({ refundedAmount: "0.00" });
  });

  test("is answered from the supervisor's database when the journal is lost", async () => {
    const { order, refund } = await captured(at, "A-5");
    const ask = () => refund({ idempotencyKey: "key 5" });
    const first = await ask();
    await at.tpManager?.end("SIGKILL");
    removeStore(at.data, "journal");
    await at.startTpManager();
    expect((await ask()).one).toEqual(first.one);
    expect(await order()).toMatchObject({ refundedAmount: "5.00" });
  });

  test("is unknown when supervisor.db is lost, and so is one that was running", async () => {
    const { order, refund, fault, hanging, read, hasten } = await captured(at, "A-6");
    const ask = () => refund({ amount: 2, idempotencyKey: "key 6" });
    expect((await ask()).http).toBe(200);
    await fault("hang-before-commit");
    const asked = refund({ amount: 1, idempotencyKey: "key 7" });
    await hanging();
    await at.supervisor?.end("SIGKILL");
    expect(coded(await asked)).toEqual(isUnknown);
    removeStore(at.data, "supervisor");
    await at.startSupervisor();
    await until("the order is handed off again", async () => {
      await hasten();
      return (await read()).gateway !== null || undefined;
    });
    expect(coded(await ask())).toEqual(isUnknown);
    expect(coded(await refund({ amount: 1, idempotencyKey: "key 7" }))).toEqual(isUnknown);
    const { transactionPublicId } = (await order()) ?? {};
    const byId = await refund({ orderId: undefined, transactionPublicId, amount: 1, again: true });
    expect(byId.one.error?.code).toBe("GATEWAY_OPERATION_OPEN");
    expect(await order()).toMatchObject({ refundedAmount: "2.00" });
    // An order of after the loss lacks nothing.
    const after = await captured(at, "A-7");
    const answer = await after.refund({ amount: 2, idempotencyKey: "key 8" });
    expect([answer.http, (await after.order())?.refundedAmount]).toEqual([200, "2.00"]);
  });
});
