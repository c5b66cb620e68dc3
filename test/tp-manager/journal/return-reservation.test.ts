import { expect, test } from "vitest";
import type { OpenReturn } from "../../../src/tp-manager/attempts/payment.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { baseline } from "../../support/terminals/reports.ts";

const open: OpenReturn = {
  operationId: "0b9f1e0e-6a1c-4f7e-9d0b-3a5f5a1b2c3d",
  kind: "refund",
  amountMinor: 999,
  transactionPublicId: "5F1A",
  atMs: 1,
};

async function charged() {
  const at = house();
  await pay(at, request("A-1"));
  const sale = at.journal.attempts.decisive("A-1");
  if (sale?.state.phase !== "charged") throw new Error("the sale was not charged");
  at.terminal.baseline = { ...baseline, last: { kind: "transaction", report: sale.state.report } };
  return { at, sale, transactionId: sale.transactionId, state: sale.state };
}

const reverses = (at: House): Promise<unknown> => at.afterSale.reverse("A-1");

test("a return at the gateway is not reserved while the terminal reverses, nor after", async () => {
  const { at, transactionId } = await charged();
  const { returns } = at.journal;
  let meanwhile: boolean | undefined;
  const { reversal } = at.terminal;
  at.terminal.reversal = (order, observer) => {
    meanwhile = returns.reserveReturn(transactionId, open, 999);
    return reversal(order, observer);
  };
  await reverses(at);
  expect(meanwhile).toBe(false);
  expect(returns.reserveReturn(transactionId, open, 999)).toBe(false);
  expect(returns.openReturns()).toEqual([]);
});

test("a return reserved while the terminal is made ready keeps it from reversing", async () => {
  const { at, transactionId } = await charged();
  const prepared = at.terminal.prepare.bind(at.terminal);
  at.terminal.prepare = (signal) => {
    expect(at.journal.returns.reserveReturn(transactionId, open, 999)).toBe(true);
    return prepared(signal);
  };
  await expect(reverses(at)).rejects.toMatchObject({ code: "GATEWAY_OPERATION_OPEN" });
  expect(at.terminal.reversed).toEqual([]);
});

test("the journal itself takes no reversal of a sale whose return is open", async () => {
  const { at, transactionId, state } = await charged();
  const { attempts, returns } = at.journal;
  returns.reserveReturn(transactionId, open, 999);
  const { phase: _, ...sale } = state;
  const event = { atMs: 1, kind: "reversal-begins", detail: {} };
  const reversing = { phase: "reversing", sale, baseline, last: null } as const;
  const change = { from: "charged", state: reversing, steps: [event] } as const;
  expect(() => attempts.update(transactionId, change)).toThrow();
  expect(attempts.read(transactionId)?.state.phase).toBe("charged");
});

test("a sale is not put away while its return is open", async () => {
  const { at, transactionId } = await charged();
  const putAway = (): number => at.journal.archive.putAway(at.clock.now() + 1, 100).archived;
  at.journal.returns.reserveReturn(transactionId, open, 999);
  expect(putAway()).toBe(0);
  const event = { atMs: 2, kind: "gateway-return-ended", detail: {} } as const;
  at.journal.returns.endReturn(transactionId, open, null, event);
  expect(putAway()).toBe(1);
});

test("a return that the supervisor has reported counts once when its end is known", async () => {
  const { at, transactionId } = await charged();
  const { gaps, handOffs, returns, attempts } = at.journal;
  const part = { ...open, amountMinor: 400 };
  expect(returns.reserveReturn(transactionId, part, 999)).toBe(true);
  const { transaction } = handOffs.handOff(transactionId) ?? {};
  if (!transaction) throw new Error("the sale was not handed off");
  const known = { transaction, state: "sent", reversed: false, openReturn: null } as const;
  gaps.importOrders([{ ...known, returnedMinor: 400 }], null, 2);
  const event = { atMs: 2, kind: "gateway-return-ended", detail: {} } as const;
  returns.endReturn(transactionId, part, { sumMinor: 400, addedMinor: 400 }, event);
  expect(attempts.read(transactionId)?.returnedMinor).toBe(400);
});
