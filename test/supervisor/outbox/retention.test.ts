import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { transaction } from "../../../src/shared/store/sqlite.ts";
import { gatewayHistoryOf } from "../../../src/supervisor/operations/gateway-history.ts";
import { retentionChore } from "../../../src/supervisor/outbox/retention.ts";
import { withoutPauses } from "../clock-without-pauses.ts";
import { mapiOf, resultOf } from "../notifications/mapi.ts";
import { accepted, refusedOrder } from "../recording-gateway.ts";
import { fullTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

const DAY_MS = 24 * 3_600_000;
const DAYS = 400;
const PAYMENT_PAGE_DAYS = 7;

/** One order in each state, with everything that a transaction can have. */
async function settled() {
  const rig = await openRig();
  const given = (orderId: string) => fullTransaction({ orderId });
  const orders = ["sent", "parked", "dropped", "waiting", "reversed"].map(given);
  rig.server.behave = ({ reference }) => {
    if (reference === "sent") return accepted;
    return reference === "waiting" || reference === "reversed" ? { status: 503 } : refusedOrder;
  };
  const ids = new Map<string, string>();
  for (const order of orders) {
    ids.set(order.orderId, order.transactionId);
    rig.intake.store(order);
    await rig.tries(order.transactionId, 1);
  }
  const idOf = (orderId: string): string => ids.get(orderId) ?? "";
  rig.admin.drop(idOf("dropped"), "booked by hand", rig.clock.now());
  const reversed = orders.at(-1);
  if (reversed) rig.intake.withdraw(reversed);
  const raw = mapiOf(resultOf({ idForMerchant: "sent" }));
  rig.notifications.add(
    {
      fingerprint: "f",
      kind: "operation",
      verdict: "accepted",
      transactionId: idOf("sent"),
      transactionPublicId: "5CF62325CB217655",
      operation: "capture",
      status: "ok",
      amountMinor: null,
      parsed: { operation: "capture" },
      raw,
    },
    rig.clock.now(),
  );
  const chore = retentionChore(rig.database, DAYS, withoutPauses(rig.clock));
  const content = (orderId: string) => JSON.parse(rig.store.content(idOf(orderId)) ?? "{}");
  const value = (sql: string) => Object.values(rig.database.prepare(sql).get() ?? {})[0];
  return { rig, orders, idOf, chore, content, value, raw };
}

describe("what is kept", () => {
  test("the payment page of a sent order is erased after its days, from the file too", async () => {
    const { rig, chore, value } = await settled();
    const pages = () => value("SELECT count(redirect_url) FROM outbox");
    await rig.clock.advance(PAYMENT_PAGE_DAYS * DAY_MS);
    await chore.run();
    expect(pages()).toBe(1);
    await rig.clock.advance(1);
    await chore.run();
    expect(pages()).toBe(0);
    rig.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    expect(readFileSync(rig.path, "latin1")).not.toContain("pay.gateway.test");
  });

  test("details of what is settled go after JOURNAL_DAYS, its ids and amount never", async () => {
    const { rig, orders, chore, content, value, raw } = await settled();
    await rig.clock.advance(DAYS * DAY_MS);
    await chore.run();
    expect(content("sent")).toEqual(orders[0]);
    expect(value("SELECT raw FROM notifications")).toBe(raw);
    await rig.clock.advance(1);
    await chore.run();
    for (const orderId of ["sent", "reversed"]) {
      const order = orders.find((one) => one.orderId === orderId);
      expect(content(orderId)).toEqual({
        ...order,
        maskedPan: null,
        authorisationNumber: null,
        cardName: null,
        receiptNumber: null,
        traceNumber: null,
        customerEmail: null,
        customData: {},
        cart: [],
        trimmed: true,
      });
    }
    expect(value("SELECT raw FROM notifications")).toBe("");
    expect(gatewayHistoryOf("sent", rig.operationStore)).toMatchObject({
      known: true,
      state: "captured",
      events: [{ operation: "capture", details: { operation: "capture" } }],
    });
    expect(rig.store.attempts(orders[0]?.transactionId ?? "")).toHaveLength(1);
    // Why those that wait or were dropped were parked stays with them.
    expect(value("SELECT count(*) FROM outbox_ends")).toBe(2);
    expect(rig.store.counts()).toEqual({ pending: 1, parked: 1, sent: 1, closed: 2 });
  });

  test("what waits, is parked or was dropped stays whole and can be sent", async () => {
    const { rig, orders, chore, content, idOf } = await settled();
    await rig.clock.advance(10 * DAYS * DAY_MS);
    await chore.run();
    for (const orderId of ["parked", "dropped", "waiting"]) {
      expect(content(orderId)).toEqual(orders.find((one) => one.orderId === orderId));
    }
    rig.server.behave = () => accepted;
    const before = rig.server.requests.length;
    expect(rig.admin.requeue(idOf("dropped"), rig.clock.now())).toBe("queued");
    rig.forwarder.requeued(idOf("dropped"));
    await rig.tries(idOf("dropped"), 2);
    expect(rig.server.requests[before]?.body).toContain("ada@shop.example");
  });

  test("a transaction that is handed off again after that is still known", async () => {
    const { rig, orders, chore } = await settled();
    await rig.clock.advance(DAYS * DAY_MS + 1);
    await chore.run();
    const [sent] = orders;
    if (!sent) throw new Error("no order");
    rig.intake.store(sent);
    expect(rig.alarms()).not.toContain("transaction-changed");
    expect(() => rig.intake.store({ ...sent, amountMinor: 1 })).toThrow(/amountMinor/);
    expect(rig.server.references.filter((reference) => reference === "sent")).toHaveLength(1);
  });

  test("many rows are erased in several commits", async () => {
    const { rig, chore, value } = await settled();
    transaction(rig.database, () => {
      const content = rig.database.prepare("INSERT INTO transactions VALUES (?, ?, ?, ?)");
      const item = rig.database.prepare(`INSERT INTO outbox (transaction_id, state, queued_at_ms,
        next_try_at_ms, delayed_at_ms, settled_at_ms, redirect_url)
        VALUES (?1, 'sent', ?2, ?2, ?2, ?2, 'page')`);
      for (let i = 0; i < 450; i++) {
        const given = fullTransaction({ orderId: `order ${i}` });
        content.run(given.transactionId, given.orderId, 0, JSON.stringify(given));
        item.run(given.transactionId, rig.clock.now());
      }
    });
    await rig.clock.advance(DAYS * DAY_MS + 1);
    await chore.run();
    expect(value("SELECT count(redirect_url) FROM outbox")).toBe(0);
    expect(value("SELECT count(*) FROM outbox WHERE trimmed = 1")).toBeGreaterThanOrEqual(452);
  });
});
