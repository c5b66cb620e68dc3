import { describe, expect, test } from "vitest";
import { BrokenInvariant } from "../../../src/shared/invariant.ts";
import { NotificationHandler } from "../../../src/supervisor/notifications/notification-handler.ts";
import { type Fields, mapiOf, resultOf, secrets } from "../../supervisor/notifications/mapi.ts";
import { operationBody, type RecordingGateway } from "../../supervisor/recording-gateway.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import { apiWithSupervisor } from "../http/api-with-supervisor.ts";

/** How often the supervisor is asked. */
const POLL_MS = 5_000;

/** A charged order of 9.99 at a gateway that notifies what others do there. */
async function charged(behave?: RecordingGateway["behave"]) {
  const api = await apiWithSupervisor();
  const { rig, at } = api;
  if (behave) rig.server.behave = behave;
  await pay(at, request("A-1"));
  const [transaction] = at.supervisor.stored;
  if (!transaction) throw new Error("the order was not handed off");
  rig.intake.store(transaction);
  await rig.tries(transaction.transactionId, 1);
  const arbiter = new NotificationHandler({
    operations: rig.operationStore,
    losses: rig.losses,
    tally: rig.tally,
    clock: rig.clock,
    log: rig.log,
    secrets,
    fraudSecret: undefined,
    onAccepted: (id) => rig.operations.notified(id),
  });
  const notify = (fields: Fields): boolean => {
    const result = resultOf({ origAmount: "9.99", ...fields });
    return arbiter.takeOperation(Buffer.from(mapiOf(result)), () => true) === "taken";
  };
  const status = async () => (await api.call("GET", "/payment/A-1")).one.status;
  return { ...api, notify, status, transactionId: transaction.transactionId };
}

const refund = (refundedAmount: string, time: string): Fields => ({
  operation: "refund",
  refundedAmount,
  time,
});

describe("money that went back without us", () => {
  test.each([
    ["a refund of all in the merchant's account", { operation: "refund" }],
    ["a cancellation", { operation: "cancellation" }],
    ["a chargeback", { operation: "reject" }],
  ])("%s finishes the order: no replay, no charge", async (_name, fields) => {
    const { returns, notify, status, at, call } = await charged();
    notify({ operation: "capture" });
    await returns.ask();
    expect(await status()).toBe("Success");
    notify(fields);
    await returns.ask();
    expect(await status()).toBe("Reversed");
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({
      code: "ORDER_REVERSED",
      charged: "no",
    });
    expect(at.terminal.paid).toHaveLength(1);
    const listed = await call("GET", "/payments?status=Reversed");
    expect(listed.body.map(({ orderId }) => orderId)).toEqual(["A-1"]);
    expect((await call("GET", "/payments?status=Success")).body).toEqual([]);
    const reversal = await call("POST", "/reversal", { orderId: "A-1" });
    expect([reversal.http, reversal.one.status]).toEqual([200, "Reversed"]);
    expect(at.terminal.reversed).toEqual([]);
  });

  test("in part leaves the order charged, and only the rest can follow", async () => {
    const { returns, notify, status, at, call } = await charged();
    notify(refund("4.00", "12:00:01 UTC+0000"));
    await returns.ask();
    expect(await status()).toBe("Success");
    expect((await pay(at, request("A-1"))).replayed).toBe(true);
    const tooMuch = await call("POST", "/gateway/refund", { orderId: "A-1", amount: 6 });
    expect([tooMuch.http, tooMuch.one.error.code]).toEqual([400, "REQUEST_INVALID"]);
    notify(refund("5.99", "12:00:02 UTC+0000"));
    await returns.ask();
    expect(await status()).toBe("Reversed");
  });

  test("finishes an order whose answer was lost and that was never sent again", async () => {
    const { returns, notify, status, rig } = await charged(() => "reset");
    notify({ operation: "capture" });
    rig.forwarder.start();
    await rig.clock.advance(3_600_000);
    expect(rig.server.requests).toHaveLength(1);
    notify({ operation: "refund" });
    await returns.ask();
    expect(await status()).toBe("Reversed");
  });

  test("is an event once, with the order's new state", async () => {
    const { returns, notify, at, transactionId } = await charged();
    const sent: unknown[] = [];
    at.journal.statements.settle();
    at.journal.events.onEvent = ({ name, data }) => void sent.push([name, data]);
    notify({ operation: "refund" });
    await returns.ask();
    await returns.ask();
    const data = { transactionId, state: "reversed", charged: "no" };
    expect(sent).toEqual([["payment", expect.objectContaining(data)]]);
    const kinds = at.journal.attempts.events(transactionId).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "gateway-return-notified")).toHaveLength(1);
  });

  test("and was asked for here counts once, whichever report comes first", async () => {
    const { returns, notify, status, call, rig, at, transactionId } = await charged();
    notify({ operation: "capture" });
    rig.server.behave = () => ({ status: 200, body: cardBody });
    await call("POST", "/gateway/refund", { orderId: "A-1", amount: 4 });
    notify(refund("4.00", "12:00:01 UTC+0000"));
    await returns.ask();
    expect(at.journal.attempts.read(transactionId)?.returnedMinor).toBe(400);
    expect(await status()).toBe("Success");
  });

  test("after a refund's answer was lost ends that refund before anybody asks", async () => {
    const { returns, gateway, notify, call, rig, at, transactionId } = await charged();
    notify({ operation: "capture" });
    rig.server.behave = () => "reset";
    const lost = await call("POST", "/gateway/refund", { orderId: "A-1" });
    expect([lost.http, lost.one.error.code]).toEqual([504, "GATEWAY_OPERATION_UNKNOWN"]);
    await gateway.openReturns.ask();
    expect((await pay(at, request("A-1"))).replayed).toBe(true);
    notify({ operation: "refund" });
    await returns.ask();
    await gateway.openReturns.ask();
    expect(at.journal.attempts.read(transactionId)?.openReturn).toBeNull();
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "ORDER_REVERSED" });
    expect((await call("GET", "/payments?status=Success")).body).toEqual([]);
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("after a refund's answer was lost, with a broken invariant, ends the poll", async () => {
    const { gateway, notify, call, rig, at } = await charged();
    notify({ operation: "capture" });
    rig.server.behave = () => "reset";
    await call("POST", "/gateway/refund", { orderId: "A-1" });
    at.journal.attempts.read = () => {
      throw new BrokenInvariant("of a test");
    };
    await expect(gateway.openReturns.ask()).rejects.toThrow(BrokenInvariant);
  });

  test("adds up with what is returned here, before that is notified too", async () => {
    const { returns, notify, call, rig, at, transactionId } = await charged();
    notify({ operation: "capture" });
    notify(refund("4.00", "12:00:01 UTC+0000"));
    await returns.ask();
    // The 4.00 were notified before this one is asked for, and say nothing of its end.
    const body = operationBody("card", 0, "N/A", { amount: "3" });
    rig.server.behave = () => ({ status: 200, body });
    const ours = await call("POST", "/gateway/refund", { orderId: "A-1", amount: 3 });
    expect(ours.http).toBe(200);
    expect(at.journal.attempts.read(transactionId)?.returnedMinor).toBe(700);
    const beyond = await call("POST", "/gateway/refund", { orderId: "A-1", amount: 4 });
    expect([beyond.http, beyond.one.error.code]).toEqual([400, "REQUEST_INVALID"]);
    notify(refund("3.00", "12:00:02 UTC+0000"));
    await returns.ask();
    expect(at.journal.attempts.read(transactionId)?.returnedMinor).toBe(700);
  });

  test.each(["4,00", "-9.99", "0", "all", "9.999"])(
    "of an amount that cannot be read, %j, is not all of it",
    async (refundedAmount) => {
      const { returns, notify, status, call } = await charged();
      notify({ operation: "capture" });
      notify({ operation: "refund", refundedAmount });
      await returns.ask();
      expect(await status()).toBe("Success");
      expect((await call("GET", "/payment/A-1")).one.gateway.state).toBe("partly-refunded");
    },
  );

  test("without an amount, after a part was asked for here, is that part", async () => {
    const { returns, notify, status, call, rig } = await charged();
    notify({ operation: "capture" });
    rig.server.behave = () => ({ status: 200, body: cardBody });
    await call("POST", "/gateway/refund", { orderId: "A-1", amount: 4 });
    notify({ operation: "refund" });
    await returns.ask();
    expect(await status()).toBe("Success");
  });

  test("of the second of two transactions of one order leaves the customer charged", async () => {
    const { returns, notify, status } = await charged();
    notify({ operation: "capture" });
    notify({ operation: "capture", transid: "5CF62325CB217656" });
    notify({ operation: "refund", transid: "5CF62325CB217656" });
    await returns.ask();
    expect(await status()).toBe("Success");
    notify({ operation: "refund" });
    await returns.ask();
    expect(await status()).toBe("Reversed");
  });

  test.each([
    ["of one of two transactions", { operation: "refund", transid: "5CF62325CB217656" }],
    ["of an amount that cannot be read", { operation: "refund", refundedAmount: "4,00" }],
  ])("%s keeps the terminal from a reversal, supervisor or not", async (_name, fields) => {
    const { returns, notify, call, at, stopSupervisor } = await charged();
    notify({ operation: "capture" });
    notify(fields);
    await returns.ask();
    await stopSupervisor();
    const { http, one } = await call("POST", "/reversal", { orderId: "A-1" });
    expect([http, one.error.code]).toEqual([409, "REVERSAL_REFUSED"]);
    expect(at.terminal.reversed).toEqual([]);
  });

  test("is kept for an order that is in the archive", async () => {
    const { returns, notify, status, at, transactionId } = await charged();
    at.journal.handOffs.noteAccepted(transactionId, "pending", at.clock.now());
    at.journal.handOffs.setDelivery(transactionId, "sent", at.clock.now());
    at.journal.archive.putAway(at.clock.now() + 1, 100);
    expect(at.journal.attempts.read(transactionId)).toBeUndefined();
    notify({ operation: "refund" });
    await returns.ask();
    expect(await status()).toBe("Reversed");
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "ORDER_REVERSED" });
  });

  test("is asked for again and again, and waits for a supervisor that is away", async () => {
    const { returns, notify, status, at, stopSupervisor } = await charged();
    returns.start();
    notify({ operation: "refund" });
    expect(await status()).toBe("Success");
    await at.clock.advance(POLL_MS);
    await expect.poll(status).toBe("Reversed");
    await stopSupervisor();
    await at.clock.advance(3 * POLL_MS);
    await returns.close();
    expect(await status()).toBe("Reversed");
  });

  test("is read from the start when the supervisor has another database", async () => {
    const { returns, notify, status, at } = await charged();
    at.journal.returns.setReturnsReadTo(7_000);
    notify({ operation: "refund" });
    await returns.ask();
    expect(await status()).toBe("Reversed");
    expect(at.journal.returns.returnsReadTo()).toBe(1);
  });
});

const cardBody =
  '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>' +
  '<n:cardResponse xmlns:n="urn:x"><cardResult><code>0</code><description>N/A</description>' +
  "</cardResult></n:cardResponse></S:Body></S:Envelope>";
