import { expect, test, vi } from "vitest";
import type { OpenReturn } from "../../../src/tp-manager/attempts/payment.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import { GatewayOperations } from "../../../src/tp-manager/supervisor/gateway-operations.ts";
import { returnPoll } from "../../../src/tp-manager/supervisor/polls.ts";
import type { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { NumberingTerminal } from "../../support/terminals/numbering-terminal.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

/** How often the supervisor is asked. */
const POLL_MS = 5_000;

async function sold(): Promise<{ at: House; terminal: NumberingTerminal; id: string }> {
  const terminal = new NumberingTerminal();
  const at = house(undefined, terminal);
  const { body } = await pay(at, request("A", { amountMinor: 500, echo: { amount: 5 } }));
  return { at, terminal, id: body.transactionId };
}

/** The supervisor reports a return, which the gateway has notified, to the poll. */
async function notified(at: House, transactionId: string, returnedMinor: number): Promise<void> {
  const call = () =>
    Promise.resolve({ last: 1, more: false, returns: [{ transactionId, returnedMinor }] });
  const link = { call } as unknown as SupervisorLink;
  await returnPoll(at.journal.returns, link, at.clock, at.hub.tap(at.log)).ask();
}

function gatewayOperations(at: House): GatewayOperations {
  const { journal, guard, clock } = at;
  const link = { call: () => Promise.reject(new Error("down")) } as unknown as SupervisorLink;
  return new GatewayOperations({ journal, guard, link, clock, log: at.hub.tap(at.log) });
}

const alarmed = (at: House): string[] =>
  at.hub.source
    .alarms(10)
    .flatMap(({ data }) => ("alarm" in data && data.alarm === "returned-twice" ? [data] : []))
    .map(({ orderId, message }) => `${orderId}: ${message}`);

const both = (amount: string): string[] => [
  expect.stringMatching(new RegExp(`^A: .*terminal, 5[.]00 EUR.*gateway, ${amount} EUR`)),
];

test.each([500, 200])(
  "a return of %i at the gateway while the terminal reverses is alarmed, and does not stop it",
  async (returnedMinor) => {
    const { at, terminal, id } = await sold();
    const { reversal } = terminal;
    terminal.reversal = async (order, observer) => {
      await notified(at, id, returnedMinor);
      return await reversal(order, observer);
    };
    const { attempt, delivery } = await at.afterSale.reverse("A");
    expect(answerOf(attempt, delivery).body.status).toBe("Reversed");
    expect(terminal.charged).toEqual([]);
    expect(alarmed(at)).toEqual(both(`${returnedMinor / 100}[.]00`));
  },
);

test("a return or chargeback after the reversal raises one alarm", async () => {
  const { at, id } = await sold();
  await at.afterSale.reverse("A");
  expect(alarmed(at)).toEqual([]);
  await notified(at, id, 500);
  await notified(at, id, 500);
  await at.clock.advance(POLL_MS);
  expect(alarmed(at)).toEqual(both("5[.]00"));
});

test("a return after the reversal raises an alarm although the disk fills up then", async () => {
  const { at, id } = await sold();
  await at.afterSale.reverse("A");
  const { returns } = at.journal;
  const answer = { last: 1, more: false, returns: [{ transactionId: id, returnedMinor: 500 }] };
  const link = { call: () => Promise.resolve(answer) } as unknown as SupervisorLink;
  const full = (): never => {
    throw new Error("database or disk is full");
  };
  const fullDisk = vi.spyOn(returns, "setReturnsReadTo").mockImplementation(full);
  const poll = returnPoll(returns, link, at.clock, at.hub.tap(at.log));
  await poll.ask();
  await poll.ask();
  expect(alarmed(at)).toEqual(both("5[.]00"));
  fullDisk.mockRestore();
  // The program ended between the record and the alarm, so the next one records it again.
  await returnPoll(returns, link, at.clock, at.hub.tap(at.log)).ask();
  expect(alarmed(at)).toHaveLength(2);
  expect(returns.returnsReadTo()).toBe(1);
});

test("an alarm that the end of the program prevented is raised at the next start", async () => {
  const { at, terminal, id } = await sold();
  const { reversal } = terminal;
  terminal.reversal = async (order, observer) => {
    await notified(at, id, 500);
    return await reversal(order, observer);
  };
  // What is logged after the commit is lost with the program.
  const { source } = at.hub;
  source.raise = () => {
    throw new Error("killed");
  };
  await at.afterSale.reverse("A").catch(() => {});
  expect(alarmed(at)).toEqual([]);
  at.close();
  const after = house(at.path);
  const start = (): void => gatewayOperations(after).start();
  start();
  expect(alarmed(after)).toEqual(both("5[.]00"));
  start();
  expect(alarmed(after)).toHaveLength(1);
});

test("a return while the reversal is in doubt raises an alarm once that is proved", async () => {
  const { at, terminal, id } = await sold();
  const { reversal } = terminal;
  terminal.reversal = async (order, observer) => {
    await reversal(order, { ...observer, report: () => "accept", ackArrived: () => {} });
    return lost("line broken");
  };
  const { attempt, delivery } = await at.afterSale.reverse("A");
  expect(answerOf(attempt, delivery).body.status).toBe("Unknown");
  await notified(at, id, 500);
  expect(alarmed(at)).toEqual([]);
  await at.clock.advance(20_000);
  expect(at.journal.attempts.decisive("A")?.state.phase).toBe("reversed");
  expect(alarmed(at)).toEqual(both("5[.]00"));
});

/** A supervisor that has the order at the gateway, and reports its return when `answered`. */
function gatewayOf(
  at: House,
  transactionId: string,
  answered: () => Promise<void>,
  asked?: string[],
): GatewayOperations {
  const { journal, guard, clock } = at;
  const transactionPublicId = "T-1";
  const where = { transactionPublicId, transactionId, orderId: "A", currency: "EUR", exponent: 2 };
  const left = { leftMinor: 500, returnedMinor: 0 };
  const operation = { state: "done", code: null, description: "", transactionPublicId };
  const replyTo = async (message: string): Promise<object> => {
    asked?.push(message);
    if (message === "gateway-resolve") return { found: true, ...where, ...left };
    if (message === "gateway-operation") await answered();
    return { operation, orderReturnedMinor: 500 };
  };
  const link = { call: replyTo, ask: replyTo } as unknown as SupervisorLink;
  return new GatewayOperations({ journal, guard, link, clock, log: at.hub.tap(at.log) });
}

test("a refund that is on its way to the supervisor is not looked up", async () => {
  const { at, id } = await sold();
  const asked: string[] = [];
  const gateway = gatewayOf(at, id, () => gateway.openReturns.ask(), asked);
  const once = { idempotencyKey: undefined, asked: "all of it", again: false };
  await gateway.ask("refund", { orderId: "A" }, () => undefined, once);
  expect(asked).toEqual(["gateway-resolve", "gateway-operation"]);
});

test("a refund of ours whose order was found reversed meanwhile raises an alarm", async () => {
  const { at, terminal, id } = await sold();
  const gateway = gatewayOf(at, id, async () => {
    terminal.reverseAtKeys("0001");
    await expect(pay(at, request("B", { amountMinor: 700 }))).resolves.toBeDefined();
    await at.clock.advance(20_000);
    expect(at.journal.attempts.decisive("A")?.state.phase).toBe("reversed");
  });
  const once = { idempotencyKey: undefined, asked: "all of it", again: false };
  await gateway.ask("refund", { orderId: "A" }, () => undefined, once);
  expect(alarmed(at)).toEqual(both("5[.]00"));
  gateway.start();
  expect(alarmed(at)).toHaveLength(1);
});

test("a stop does not wait for the lookup of a refund that the gateway works on", async () => {
  const { at, id } = await sold();
  const gateway = gatewayOf(at, id, () => Promise.resolve());
  const open = { operationId: "O-1", kind: "refund", amountMinor: 500, transactionPublicId: "T-1" };
  expect(at.journal.returns.reserveReturn(id, { ...open, atMs: 0 } as OpenReturn, 500)).toBe(true);
  const asked = Promise.withResolvers<void>();
  gateway.reconcile = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  gateway.start();
  await asked.promise;
  gateway.close();
});

test("a return raises no alarm when the terminal refuses the reversal", async () => {
  const { at, terminal, id } = await sold();
  terminal.reversal = async () => {
    await notified(at, id, 500);
    return { end: "refused", code: "B5", text: "impossible" };
  };
  await expect(at.afterSale.reverse("A")).rejects.toMatchObject({ code: "REVERSAL_REFUSED" });
  expect(alarmed(at)).toEqual([]);
  const { attempt, delivery } = await at.afterSale.reverse("A");
  expect(answerOf(attempt, delivery).body.status).toBe("Reversed");
  expect(terminal.charged).toEqual([500]);
});
