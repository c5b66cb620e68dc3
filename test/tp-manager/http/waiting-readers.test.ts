import { expect, test } from "vitest";
import type { Baseline, PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import { decided, deliver, mayBeOut, silent } from "../../support/house/two-phase-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { aborted, disconnected, lost } from "../../support/terminals/scripted-terminal.ts";
import { type AsyncSite, asyncSite, heldPayments } from "./async-site.ts";

const applied = ({ headers }: { readonly headers: Headers }) => headers.get("preference-applied");
const declines = { ...aborted, code: "05", reason: "declined" } as const satisfies PaymentEnd;

/** A site on which the order A-1 is being paid. */
async function paying() {
  const site = await asyncSite();
  const held = heldPayments(site);
  expect((await site.post({ orderId: "A-1", amount: 9.99 })).http).toBe(202);
  return { ...site, ...held };
}

/** A site on which A-1 is in doubt, at a terminal that is away. */
async function inDoubt() {
  const site = await asyncSite();
  const { at } = site;
  at.terminal.script = () => {
    at.terminal.unavailable = disconnected();
    return Promise.resolve(lost("line broken"));
  };
  await pay(at, request("A-1"));
  return site;
}

test.each([
  ["Success", "approves"],
  ["Declined", declines],
  ["Cancelled", aborted],
] as const)(
  "a reader that waits is answered with the end of the payment: %s",
  async (says, how) => {
    const { at, get, waits, ends, waiting } = await paying();
    const { answer } = await waits("A-1");
    const nowMs = at.clock.now();
    ends(how);
    const got = await answer;
    expect([got.http, got.one.status, applied(got)]).toEqual([200, says, "wait=30"]);
    expect([at.clock.now(), waiting()]).toEqual([nowMs, 0]);
    // The time in which it waited is no time of the API.
    expect(await (await get("/metrics")).text()).not.toContain('route="/payment/:orderId"');
  },
);

test("a reader is answered as a second attempt ends, with the goods of the first", async () => {
  const first = await silent();
  const { at, post, waits, waiting } = await asyncSite({}, first);
  const { ends } = heldPayments({ at });
  const body = { orderId: "A-1", amount: 9.99, delivery: { withinSeconds: 30 } };
  expect((await post(body)).http).toBe(202);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("unknown"));
  const { answer } = await waits("A-1");
  ends(declines);
  const { http, one } = await answer;
  expect([http, one.error, waiting()]).toMatchObject([200, mayBeOut, 0]);
});

test("a reader that waits is answered when the sale is approved", async () => {
  const site = await asyncSite();
  const approved = Promise.withResolvers<void>();
  site.at.terminal.script = async (_order, observer) => {
    await approved.promise;
    observer.report(report());
    return new Promise(() => {});
  };
  const body = { orderId: "A-1", amount: 9.99, delivery: { withinSeconds: 30 } };
  expect((await site.post(body)).http).toBe(202);
  const { answer } = await site.waits("A-1");
  approved.resolve();
  expect((await answer).one.status).toBe("Approved");
});

test.each([
  ["Success", "charged"],
  ["Failed", "not_charged"],
] as const)("a reader of an order in doubt is answered %s once it is settled", async (says, as) => {
  const { at, waits } = await inDoubt();
  const { answer } = await waits("A-1");
  await at.settle({ orderId: "A-1", outcome: as, note: "seen on the terminal's receipt" });
  const got = await answer;
  expect([got.http, got.one.status, applied(got)]).toEqual([200, says, "wait=30"]);
});

test("a payment that ends in doubt lets its reader wait on", async () => {
  const { at, waits, ends, lookUp, waiting } = await paying();
  const { answer } = await waits("A-1");
  at.terminal.unavailable = disconnected();
  ends(lost("line broken"));
  const code = async () => (await lookUp("A-1")).one.error.code;
  await expect.poll(code).toBe("PAYMENT_UNKNOWN");
  expect(waiting()).toBe(1);
  await at.settle({ orderId: "A-1", outcome: "charged", note: "seen on the receipt" });
  expect((await answer).one.status).toBe("Success");
});

test("a first attempt that cannot begin ends the wait", async () => {
  const site = await asyncSite();
  const ready = Promise.withResolvers<Baseline>();
  site.at.terminal.prepare = () => ready.promise;
  const payment = site.post({ orderId: "A-1", amount: 9.99 });
  await expect.poll(async () => (await site.lookUp("A-1")).http).toBe(504);
  const { answer } = await site.waits("A-1");
  ready.reject(disconnected());
  const got = await answer;
  expect([got.http, got.one.error.code]).toEqual([200, "TERMINAL_DISCONNECTED"]);
  expect((await payment).http).toBe(503);
});

test.each([
  ["wait=5", 5],
  ["wait=1000", 60],
])("%s ends after %i seconds, with the state of that moment", async (prefer, seconds) => {
  const { at, waits, waiting, lookUp } = await paying();
  const { answer } = await waits("A-1", prefer);
  await at.clock.advance(seconds * 1_000 - 1);
  expect(waiting()).toBe(1);
  await at.clock.advance(1);
  const got = await answer;
  expect([got.http, got.one.error.code, applied(got)]).toEqual([
    504,
    "PAYMENT_RUNNING",
    `wait=${seconds}`,
  ]);
  expect(got.one).toEqual((await lookUp("A-1")).one);
  expect(waiting()).toBe(0);
});

test("an event that leaves the order open lets its reader wait on", async () => {
  const { at, waits, waiting, ends } = await paying();
  const { answer } = await waits("A-1");
  const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
  const data = { orderId: "A-1", transactionId, endsAt: "2026-01-31T00:00:00Z", secondsLeft: 1 };
  at.hub.announce({ name: "time-warning", data });
  await at.clock.advance(1_000);
  expect(waiting()).toBe(1);
  ends();
  expect((await answer).one.status).toBe("Success");
});

const atOnce: ReadonlyArray<readonly [string, string, (site: AsyncSite) => unknown]> = [
  ["200 Success", "wait=30", ({ at }) => pay(at, request("A-1"))],
  ["404 ORDER_NOT_FOUND", "wait=30", () => undefined],
  ["504 PAYMENT_RUNNING", "wait=0", (site) => runs(site)],
  ["504 PAYMENT_RUNNING", "", (site) => runs(site)],
  ["504 PAYMENT_RUNNING", "respond-async", (site) => runs(site)],
  ["504 PAYMENT_RUNNING", "wait 30", (site) => runs(site)],
];

async function runs(site: AsyncSite): Promise<void> {
  heldPayments(site);
  await site.post({ orderId: "A-1", amount: 9.99 });
}

test.each(atOnce)(
  "%s is answered at once to a reader that prefers %j",
  async (says, prefer, first) => {
    const site = await asyncSite();
    await first(site);
    const got = await site.lookUp("A-1", prefer);
    expect(`${got.http} ${got.one.error?.code ?? got.one.status}`).toBe(says);
    expect([applied(got), site.waiting()]).toEqual([null, 0]);
  },
);

test("a reader that hangs up leaves no timer and changes nothing", async () => {
  const { at, leaves, waiting, ends, unread, lookUp } = await paying();
  for (let left = 0; left < 3; left++) await leaves("A-1");
  expect(waiting()).toBe(0);
  ends();
  await expect.poll(unread).toEqual(["A-1"]);
  expect((await lookUp("A-1")).one.status).toBe("Success");
  expect(at.terminal.paid).toHaveLength(1);
});

test("a reader that hangs up has not read the charge of an order without an id", async () => {
  const site = await asyncSite();
  const { ends } = heldPayments(site);
  const { orderId } = (await site.post({ amount: 9.99 })).one;
  await site.leaves(orderId);
  ends();
  await expect.poll(site.unread).toEqual([orderId]);
  expect((await site.post({ amount: 9.99 })).one.error.code).toBe("ANSWER_NOT_DELIVERED");
});

test("64 readers wait, and a further one is answered at once", async () => {
  const { lookUp, ends, waiting } = await paying();
  const first = Array.from({ length: 64 }, () => lookUp("A-1", "wait=30"));
  await expect.poll(waiting).toBe(64);
  const further = await lookUp("A-1", "wait=30");
  expect([further.http, applied(further), waiting()]).toEqual([504, null, 64]);
  ends();
  const answers = await Promise.all(first);
  expect(answers.every(({ http, one }) => http === 200 && one.status === "Success")).toBe(true);
  expect(waiting()).toBe(0);
});

test.each([
  ["the call /stop", ({ get }: AsyncSite) => get("/stop")],
  // As for a restart and an update; a signal closes the lease too.
  ["a local message", ({ at }: AsyncSite) => at.arbiter.lease.close()],
] as const)("a stop by %s answers each reader at once, while the payment runs", async (_, stop) => {
  const site = await paying();
  const { answer } = await site.waits("A-1");
  await stop(site);
  const got = await answer;
  expect([got.http, got.one.error.code, applied(got)]).toEqual([504, "PAYMENT_RUNNING", "wait=30"]);
  const further = await site.lookUp("A-1", "wait=30");
  expect([further.http, applied(further), site.waiting()]).toEqual([504, null, 0]);
  site.ends();
  await expect.poll(async () => (await site.lookUp("A-1")).one.status).toBe("Success");
});
