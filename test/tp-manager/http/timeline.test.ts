import { expect, test } from "vitest";
import { isoTime } from "../../../src/shared/time.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { approves, type PayScript } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

const HOUR_MS = 3_600_000;

/** Orders an hour apart, the last one declined. */
async function sold(names: readonly string[], change: Parameters<typeof api>[0] = {}) {
  const rig = await api(change);
  const { at, call } = rig;
  at.terminal.script = approves;
  for (const [index, orderId] of names.entries()) {
    const isLast = index === names.length - 1;
    if (isLast) {
      at.terminal.script = () => Promise.resolve({ end: "refused", code: "83", text: "no" });
    }
    await call("POST", "/payment", { amount: 1 + index, orderId });
    await at.clock.advance(HOUR_MS);
  }
  const search = async (query: string): Promise<{ ids: string[]; next: string | null }> => {
    const { http, text } = await call("GET", `/payments/search?${query}`);
    expect({ http, text }).toMatchObject({ http: 200 });
    const [{ payments, next }] = JSON.parse(text);
    return { ids: payments.map((one: { orderId: string }) => one.orderId), next };
  };
  return { ...rig, search };
}

test("payments are found by order, amount, card, status and time, page by page", async () => {
  const { at, search } = await sold(["A-1", "A-2", "b-3", "B-4"]);
  const from = isoTime(at.clock.now() - 24 * HOUR_MS);
  const until = isoTime(at.clock.now());
  const range = `from=${from}&until=${until}`;
  const ids = async (query: string): Promise<string[]> => (await search(`${range}&${query}`)).ids;
  expect(await ids("")).toEqual(["B-4", "b-3", "A-2", "A-1"]);
  expect(await ids("order=b-")).toEqual(["B-4", "b-3"]);
  expect(await ids("amount=2.00")).toEqual(["A-2"]);
  expect(await ids("status=Failed")).toEqual(["B-4"]);
  expect(await ids("order=%25")).toEqual([]);
  const card = at.journal.attempts.decisive("A-1")?.state as { report: { maskedPan: string } };
  const ending = card.report.maskedPan.slice(-4);
  expect(await ids(`card=${ending}`)).toEqual(["b-3", "A-2", "A-1"]);
  expect(await ids("card=0000")).toEqual([]);
  const early = isoTime(at.clock.now() - 3.5 * HOUR_MS);
  expect((await search(`from=${from}&until=${early}`)).ids).toEqual(["A-1"]);
  expect((await search(`from=${early}&until=${until}`)).ids).toEqual(["B-4", "b-3", "A-2"]);
});

test("a search continues in the archive, page by page", async () => {
  const { at, search } = await sold(["A-1", "A-2", "A-3", "A-4"]);
  at.journal.archive.putAway(at.clock.now() - 1.5 * HOUR_MS, 100);
  const from = isoTime(at.clock.now() - 24 * HOUR_MS);
  const until = isoTime(at.clock.now());
  for (const limit of [1, 2, 3, 50]) {
    const listed: string[] = [];
    let cursor = "";
    for (let pages = 0; pages < 20; pages++) {
      const { ids, next } = await search(`from=${from}&until=${until}&limit=${limit}${cursor}`);
      listed.push(...ids);
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    expect(listed).toEqual(["A-4", "A-3", "A-2", "A-1"]);
  }
});

test.each([
  ["from=yesterday", "from"],
  ["amount=-1", "amount"],
  ["card=1", "card"],
  ["card=41111111", "card"],
  ["order=", "order"],
  ["cursor=0", "cursor"],
])("a search for %s is refused", async (query, field) => {
  const { call } = await api();
  const { http, one: body } = await call("GET", `/payments/search?${query}`);
  expect([http, body.error.code]).toEqual([400, "REQUEST_INVALID"]);
  expect(body.error.details.faults[0].field).toBe(field);
});

test("a timeline says which actions the order's state and the caller's rights allow", async () => {
  const operator = { login: "boss", password: "secret" };
  const { call } = await sold(["A-1", "A-2"], { operator });
  const may = async (orderId: string, headers = {}): Promise<string[]> =>
    (await call("GET", `/story/${orderId}`, undefined, headers)).one.may;
  const boss = { authorization: `Basic ${btoa("boss:secret")}` };
  expect(await may("A-1", boss)).toEqual(["reverse", "cancel", "refund"]);
  expect(await may("A-1")).toEqual(["reverse"]);
  expect(await may("A-2", boss)).toEqual([]);
  expect((await call("GET", "/story/nobody")).http).toBe(404);
});

test.each([
  ["authorized", true],
  ["captured", false],
  ["unknown", false],
])("a capture is offered for an order that is %s at the gateway: %s", async (state, offered) => {
  const history = { known: true, state, fraudReported: false, transactionPublicIds: [] };
  const ask = () => Promise.resolve({ ...history, events: [], operations: [] });
  const { call } = await sold(["A-1", "A-2"], { supervisor: { ask } as never });
  expect((await call("GET", "/story/A-1")).one.may.includes("capture")).toBe(offered);
});

test("a timeline has what is left to refund, and each warning with its values", async () => {
  const { at, call } = await sold(["A-1", "A-2"]);
  const timeline = async () => (await call("GET", "/story/A-1")).one;
  expect(await timeline()).toMatchObject({ refundable: 1, notes: [], warnings: [] });
  const { transactionId, startedAtMs: atMs } = at.orders.decisive("A-1");
  at.journal.returns.noteReturns([{ transactionId, returnedMinor: 40 }], atMs);
  const open = { operationId: "1", kind: "refund", amountMinor: 20, transactionPublicId: "0A1B" };
  const answer = { told: "charged", chargedElsewhere: false } as const;
  const suspects = [{ orderId: "A-1", transactionId, amountMinor: 100, ...answer }];
  const body = { kind: "receipt-jump", from: "1", to: "3", missing: 1, suspects } as const;
  const jump = { atMs, closingId: null, result: "jump", body } as const;
  at.journal.reconciliations.keep(jump, "not-charged");
  expect((await timeline()).refundable).toBe(0.6);
  at.journal.returns.reserveReturn(transactionId, { ...open, atMs } as never, 100);
  const order = await timeline();
  expect(order.refundable).toBeNull();
  expect(order.notes).toMatchObject([
    { note: "refund-open", amount: 0.2, at: null, count: null },
    { note: "totals-lack", amount: 1, at: isoTime(atMs) },
  ]);
  expect(order.notes.map(({ says }: { says: string }) => says)).toEqual(order.warnings);
});

test("a person who reads a timeline leaves the charge unread for the kiosk", async () => {
  const { at, call } = await api();
  at.terminal.script = approves;
  await call("POST", "/payment", { amount: 1, orderId: "A-1" });
  at.journal.answers.markChargeUnread("A-1", at.clock.now());
  expect((await call("GET", "/story/A-1")).one.status).toBe("Success");
  expect(at.journal.answers.unreadCharges()?.count).toBe(1);
  await call("GET", "/payment/A-1");
  expect(at.journal.answers.unreadCharges()).toBeNull();
});

const declines: PayScript = (order, observer) => {
  observer.report(declined({ amountMinor: order.amountMinor }));
  const text = "do not honour";
  return Promise.resolve({ end: "aborted", code: "05", reason: "declined", text, ticket: "" });
};

test("an earlier attempt that was charged late decides the order's answer", async () => {
  const { at, call } = await api();
  at.terminal.script = declines;
  await call("POST", "/payment", { amount: 9.99, orderId: "A-1" });
  await call("POST", "/payment", { amount: 9.99, orderId: "A-1" });
  const [first] = at.journal.attempts.ofOrder("A-1");
  at.journal.attempts.update(first?.transactionId ?? "", {
    from: "not-charged",
    state: { phase: "charged", report: report(), by: "recovery", late: true },
    steps: [{ atMs: at.clock.now(), kind: "charged-late", detail: { report: report() } }],
  });
  for (const path of ["/payment/A-1", "/story/A-1"]) {
    const { one: order } = await call("GET", path);
    expect([path, order.status, order.error, order.attempts.length]).toEqual([
      path,
      "Success",
      null,
      2,
    ]);
  }
  expect((await call("GET", "/story/A-1")).one.may).toContain("reverse");
});
