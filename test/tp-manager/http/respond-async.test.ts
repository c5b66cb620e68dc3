import { expect, test } from "vitest";
import { errorTable } from "../../../src/shared/catalog/errors.ts";
import type { Baseline } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { baseline, report } from "../../support/terminals/reports.ts";
import { aborted, lost } from "../../support/terminals/scripted-terminal.ts";
import { asyncSite, heldPayments } from "./async-site.ts";
import { authorization } from "./rig.ts";
import { situations } from "./situations.ts";

const running = { status: "Unknown", error: { code: "PAYMENT_RUNNING", charged: "unknown" } };
const applied = ({ headers }: { readonly headers: Headers }) => headers.get("preference-applied");

test("a payment that runs is answered 202, with its path and what its lookup answers", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  const accepted = await site.post({ orderId: "Kä/1 2", amount: 9.99, customData: { seat: 7 } });
  expect([accepted.http, applied(accepted)]).toEqual([202, "respond-async"]);
  const path = "/payment/K%C3%A4%2F1%202";
  expect(accepted.headers.get("location")).toBe(path);
  expect(accepted.one).toMatchObject({ ...running, orderId: "Kä/1 2", secondsLeft: 180 });
  expect(site.at.journal.attempts.decisive("Kä/1 2")?.state.phase).toBe("sent");
  const lookup = await site.lookUp("Kä/1 2");
  expect([lookup.http, lookup.one]).toEqual([504, accepted.one]);
  ends();
  await expect.poll(async () => (await site.get(path)).status).toBe(200);
  expect((await site.lookUp("Kä/1 2")).one).toMatchObject({ status: "Success" });
  expect(site.at.terminal.paid).toHaveLength(1);
});

test("a supervisor that does not answer keeps no 202 waiting", async () => {
  const ask = () => new Promise<never>(() => {});
  const site = await asyncSite({ supervisor: { ask } as never });
  const { ends } = heldPayments(site);
  const accepted = await site.post({ orderId: "A-1", amount: 9.99 });
  expect([accepted.http, accepted.one.gateway]).toEqual([202, null]);
  ends();
});

test("nothing is answered before the write-ahead record is on the disk", async () => {
  const site = await asyncSite();
  heldPayments(site);
  const ready = Promise.withResolvers<Baseline>();
  site.at.terminal.prepare = () => ready.promise;
  let http: number | undefined;
  const accepted = site.post({ orderId: "A-1", amount: 9.99 }).then((answer) => {
    ({ http } = answer);
  });
  const code = async () => (await site.lookUp("A-1")).one.error.code;
  await expect.poll(code).toBe("PAYMENT_RUNNING");
  expect([http, site.at.journal.attempts.decisive("A-1")]).toEqual([undefined, undefined]);
  ready.resolve(baseline);
  await accepted;
  expect(http).toBe(202);
});

const all = situations["POST /payment"] ?? [];
test.each(all.map((situation) => ({ says: situation[0], situation })))(
  "what is refused, stored, in doubt or over comes at once with its own status: $says",
  async ({ situation: [says, prepare, body] }) => {
    const at = house();
    await prepare(at);
    const { post } = await asyncSite({}, at);
    const answer = await post(body ?? {});
    const isRunning = says === "PAYMENT_RUNNING";
    const named = Object.entries(errorTable).find(([code]) => code === says)?.[1].http;
    expect(answer.one.error?.code ?? answer.one.status).toBe(says);
    expect(answer.http).toBe(isRunning ? 202 : (named ?? 200));
    expect(applied(answer)).toBe(isRunning ? "respond-async" : null);
  },
);

test("a charged order gets its stored answer, and nothing is sent to the terminal", async () => {
  const site = await asyncSite();
  await pay(site.at, request("A-1"));
  const { http, headers, one } = await site.post({ orderId: "A-1", amount: 9.99 });
  expect([http, headers.get("idempotent-replay"), one.status]).toEqual([200, "true", "Success"]);
  expect(site.at.terminal.paid).toHaveLength(1);
});

test("an order that was not charged is paid again", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  const first = site.post({ orderId: "A-1", amount: 9.99 }, "");
  await expect.poll(() => site.at.terminal.paid.length).toBe(1);
  ends(aborted);
  expect((await first).one.status).toBe("Cancelled");
  const { http, one } = await site.post({ orderId: "A-1", amount: 5 });
  expect([http, one.amount, one.attempts.length]).toEqual([202, 5, 2]);
});

test("an order in doubt is answered at once, and never paid by that request", async () => {
  const { at, post, lookUp } = await asyncSite();
  at.terminal.script = () => Promise.resolve(lost("line broken"));
  expect((await pay(at, request("A-1"))).http).toBe(504);
  const { probes } = at.terminal;
  const answer = await post({ orderId: "A-1", amount: 9.99 });
  const { one } = await lookUp("A-1");
  expect([answer.http, answer.one.error]).toEqual([504, one.error]);
  expect(one.error.code).toBe("PAYMENT_UNKNOWN");
  expect(at.terminal.probes).toBe(probes);
  await at.clock.advance(600_000);
  expect((await lookUp("A-1")).one.error.charged).toBe("no");
  expect(at.terminal.paid).toHaveLength(1);
});

test("a running order is joined, and its amount is compared", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  const waits = site.post({ orderId: "A-1", amount: 9.99 }, "");
  await expect.poll(() => site.at.terminal.paid.length).toBe(1);
  const joined = await site.post({ orderId: "A-1", amount: 9.99, customData: { seat: 7 } });
  expect([joined.http, joined.one.error.code]).toEqual([202, "PAYMENT_RUNNING"]);
  expect(joined.one.warnings).toEqual([expect.stringContaining("customData")]);
  const other = await site.post({ orderId: "A-1", amount: 5 });
  expect([other.http, other.one.error.code]).toEqual([422, "ORDER_MISMATCH"]);
  ends();
  expect((await waits).one.status).toBe("Success");
  // The answer of the request that waited reports the charge.
  await expect.poll(site.unread).toEqual([]);
  expect(site.at.terminal.paid).toHaveLength(1);
});

test("a charge after a 202 is unread until the kiosk itself has read it", async () => {
  const operator = { login: "boss", password: "of-the-terminal" };
  const site = await asyncSite({ operator });
  const { ends } = heldPayments(site);
  expect((await site.post({ orderId: "A-1", amount: 9.99 })).http).toBe(202);
  expect(site.unread()).toEqual([]);
  // One commit writes both, so a power cut leaves no charge that only seems to be read.
  const commits: Array<[phase: string, unread: readonly string[]]> = [];
  const { attempts } = site.at.journal;
  attempts.onStep = ({ state }) => commits.push([state.phase, site.unread()]);
  ends();
  await expect.poll(() => commits.at(-1)?.[0]).toBe("charged");
  expect(commits.at(-1)).toEqual(["charged", ["A-1"]]);
  const asOperator = { authorization: `Basic ${btoa("boss:of-the-terminal")}` };
  for (const init of [{ method: "HEAD" }, { headers: asOperator }]) {
    expect((await site.lookUp("A-1", "", init)).http).toBe(200);
  }
  const again = await site.post({ orderId: "A-1", amount: 9.99 }, "", asOperator);
  expect([again.http, again.one.replayed]).toEqual([200, true]);
  expect(site.unread()).toEqual(["A-1"]);
  expect((await site.lookUp("A-1", "wait=30")).one.status).toBe("Success");
  await expect.poll(site.unread).toEqual([]);
});

test("a reader that waits for the charge leaves it read", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  await site.post({ orderId: "A-1", amount: 9.99 });
  const { answer } = await site.waits("A-1");
  ends();
  expect((await answer).one.status).toBe("Success");
  await expect.poll(site.unread).toEqual([]);
  await site.at.clock.advance(120_000);
  expect(site.unread()).toEqual([]);
});

test("a payment that has ended before the 202 is answered with its outcome, and read", async () => {
  const { post, unread } = await asyncSite();
  const { http, headers, one } = await post({ orderId: "A-1", amount: 9.99 });
  expect([http, headers.get("location"), one.status]).toEqual([200, null, "Success"]);
  await expect.poll(unread).toEqual([]);
});

test("an order without an id of its own is not sold twice before its outcome is read", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  const { one, headers } = await site.post({ amount: 9.99 });
  const { orderId } = one;
  expect(headers.get("location")).toBe(`/payment/${orderId}`);
  expect((await site.lookUp(orderId)).http).toBe(504);
  ends();
  await expect.poll(site.unread).toEqual([orderId]);
  const again = await site.post({ amount: 9.99 });
  expect([again.http, again.one.error.code]).toEqual([409, "ANSWER_NOT_DELIVERED"]);
  expect(again.one.error.details.orderId).toBe(orderId);
  expect((await site.lookUp(orderId)).one.status).toBe("Success");
  const next = async () => (await site.post({ amount: 9.99 })).http;
  await expect.poll(next).toBe(202);
  expect(site.at.terminal.paid).toHaveLength(2);
});

test("a kiosk that hangs up before the 202 has begun its payment all the same", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  const body = JSON.stringify({ orderId: "A-1", amount: 9.99 });
  const head = [
    "POST /payment HTTP/1.1",
    `Host: 127.0.0.1:${site.port}`,
    `Authorization: ${authorization}`,
    "Content-Type: application/json",
    "Prefer: respond-async",
    `Content-Length: ${body.length}`,
  ];
  const { socket } = site.raw([...head, "", body].join("\r\n"));
  await expect.poll(() => site.at.terminal.paid.length).toBe(1);
  socket.destroy();
  ends();
  await expect.poll(site.unread).toEqual(["A-1"]);
  expect((await site.lookUp("A-1")).one.status).toBe("Success");
});

/** A terminal that approves and waits for the decision about the goods. */
function holds(at: House): void {
  at.terminal.script = (_order, observer) =>
    new Promise((resolve) => {
      observer.report(report());
      at.terminal.onDecision = () => resolve(aborted);
    });
}

test("the time for the goods runs out although nobody reads", async () => {
  const site = await asyncSite();
  const { at } = site;
  const body = { orderId: "A-1", amount: 9.99, delivery: { withinSeconds: 30 } };
  const begun = Promise.withResolvers<void>();
  at.terminal.script = async (order, observer) => {
    await begun.promise;
    return at.terminal.script(order, observer);
  };
  expect((await site.post(body)).http).toBe(202);
  holds(at);
  begun.resolve();
  await expect.poll(async () => (await site.lookUp("A-1")).one.status).toBe("Approved");
  expect((await site.post(body)).one.status).toBe("Approved");
  await at.clock.advance(30_000);
  const { one } = await site.lookUp("A-1", "wait=30");
  expect([one.status, one.error.code]).toEqual(["Cancelled", "DELIVERY_UNCONFIRMED"]);
});

test("a decline after a 202 leaves nothing unread", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  expect((await site.post({ orderId: "A-1", amount: 9.99 })).http).toBe(202);
  const { answer } = await site.waits("A-1");
  ends({ end: "aborted", code: "05", text: "declined", reason: "declined", ticket: "" });
  expect((await answer).one.status).toBe("Declined");
  expect(site.unread()).toEqual([]);
});
