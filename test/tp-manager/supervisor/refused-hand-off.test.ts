import { expect, test } from "vitest";
import { conditionsOf } from "../../../src/shared/catalog/conditions.ts";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import { auditPart, joined, partsOf } from "../../../src/tp-manager/audit/audit-journal.ts";
import { ownConditions } from "../../../src/tp-manager/http/status/facts.ts";
import { answeringLink } from "../../support/house/answering-link.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { CountingTerminal } from "../../support/terminals/counting-terminal.ts";

const HOUR_MS = 3_600_000;

/** A supervisor that takes B, and A only when `isOver`. */
async function refusedHouse() {
  const arrived: string[] = [];
  const over = { is: false };
  const known = new Set<string>();
  const take = (what: string, orderId: string): void => {
    if (orderId === "A" && !over.is)
      throw new IpcError("refused", "no such field", { status: 422 });
    arrived.push(`${what} ${orderId}`);
  };
  const link = answeringLink({
    "store-transaction": ({ transaction }) => {
      take("stored", transaction.orderId);
      known.add(transaction.transactionId);
      return { stored: true };
    },
    "withdraw-transaction": ({ transaction }) => {
      take("withdrawn", transaction.orderId);
      return { outcome: "closed" };
    },
    "transaction-delivery": ({ transactionId }) => {
      const isKnown = known.has(transactionId);
      return { known: isKnown, state: isKnown ? "sent" : null, sent: isKnown };
    },
  });
  const at = house(undefined, undefined, { linkFor: () => link });
  new CountingTerminal(at, 10);
  for (const orderId of ["B", "A"]) {
    const answer = pay(at, request(orderId));
    await at.clock.advance(6_000);
    await answer;
  }
  await at.clock.advance(1_000);
  const id = at.journal.attempts.decisive("A")?.transactionId ?? "";
  return { at, arrived, over, id };
}

const conditions = ({ handOff, clock, arbiter, journal }: House): string[] =>
  conditionsOf({
    supervisor: undefined,
    tpManager: ownConditions({ handOff, clock, arbiter, journal }),
  }).map(({ name }) => name);
const alarms = ({ lines }: House): unknown[] =>
  lines.flatMap((line) => (JSON.parse(line) as { alarm?: string }).alarm ?? []);

test("a hand-off refused for ever is listed, and ends by an operator's decision", async () => {
  const { at, arrived, id } = await refusedHouse();
  expect(conditions(at)).toEqual(["hand-over-refused"]);
  expect(at.refused.list(0, 10)).toMatchObject([
    { transaction: { transactionId: id, orderId: "A" }, why: "no such field" },
  ]);
  expect(at.refused.drop(id, "booked by hand")).toBe(true);
  expect(conditions(at)).toEqual([]);
  expect(at.refused.list(0, 10)).toEqual([]);
  await at.clock.advance(3 * HOUR_MS);
  expect(arrived).toEqual(["stored B"]);
  const found = await at.orders.lookUp("A");
  expect([found.attempt.state.phase, found.delivery]).toEqual(["charged", "closed"]);
  expect(JSON.stringify(found)).toContain("booked by hand");
  // The supervisor does not know it: that is no loss.
  expect(alarms(at)).toEqual(["hand-off-refused"]);
  expect(at.refused.drop(id, "again")).toBe(false);
});

test("a requeue hands off at once, also what was dropped", async () => {
  const { at, arrived, over, id } = await refusedHouse();
  expect(at.refused.requeue(id)).toBe(true);
  await at.clock.advance(1_000);
  expect([conditions(at), alarms(at)]).toEqual([
    ["hand-over-refused"],
    ["hand-off-refused", "hand-off-refused"],
  ]);
  at.refused.drop(id, "by mistake");
  over.is = true;
  expect(at.refused.requeue(id)).toBe(true);
  await at.clock.advance(1_000);
  expect(arrived).toEqual(["stored B", "stored A"]);
  expect([conditions(at), at.journal.handOffs.countPendingHandOffs()]).toEqual([[], 0]);
  expect(at.refused.requeue(id)).toBe(false);
  expect((await at.orders.lookUp("A")).delivery).toBe("sent");
  const { events } = at.journal;
  const deliveries = events
    .after(0, 100)
    .flatMap(({ data }) =>
      "delivery" in data && data.transactionId === id ? [data.delivery] : [],
    );
  expect(deliveries).toEqual(["closed", "pending", "sent"]);
});

test("a sale that was dropped and then reversed is no news, unless it is requeued", async () => {
  const { at, arrived, over, id } = await refusedHouse();
  at.refused.drop(id, "booked by hand");
  await at.afterSale.reverse("A");
  await at.clock.advance(1_000);
  expect(at.refused.list(0, 10)).toEqual([]);
  expect([conditions(at), alarms(at), arrived]).toEqual([[], ["hand-off-refused"], ["stored B"]]);
  over.is = true;
  expect(at.refused.requeue(id)).toBe(true);
  await at.clock.advance(1_000);
  expect(arrived).toEqual(["stored B", "withdrawn A"]);
});

test("a reversal whose news is dropped is a condition: the gateway has the order", async () => {
  const { at, over, id } = await refusedHouse();
  over.is = true;
  at.refused.requeue(id);
  await at.clock.advance(1_000);
  expect((await at.orders.lookUp("A")).delivery).toBe("sent");
  over.is = false;
  await at.afterSale.reverse("A");
  await at.clock.advance(1_000);
  expect(at.refused.drop(id, "refunded by hand")).toBe(true);
  expect(conditions(at)).toEqual(["reversed-at-terminal-only"]);
  expect(alarms(at)).toContain("reversed-after-sending");
});

test("what was dropped is not handed off again, and passes the audit", async () => {
  const { at, id } = await refusedHouse();
  at.refused.drop(id, "booked by hand");
  at.journal.resync.begin();
  const orders = at.journal.resync.page(10)?.items.map(({ transaction }) => transaction.orderId);
  expect(orders).toEqual(["B"]);
  at.close();
  const { faults, unknown } = joined(partsOf(at.path).map((part) => auditPart(at.path, part)));
  expect({ faults, unknown }).toEqual({ faults: [], unknown: {} });
});
