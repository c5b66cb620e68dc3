import { describe, expect, test } from "vitest";
import { haveChromium } from "./chromium.ts";
import {
  approved,
  customersOf,
  declined,
  dispenser,
  paid,
  unconfirmed,
  unknown,
} from "./kiosk-customers.ts";
import { PlayedConnector } from "./played-connector.ts";

describe.skipIf(!haveChromium)("the sample kiosk: goods for money, or neither", () => {
  const at = new PlayedConnector();
  const kiosk = customersOf(at);

  test("goes on asking a connector that is away in the middle of a payment", async () => {
    const { page, shows, buys, press } = await kiosk({}, (one) => one.clock.install());
    await buys(/^Airport/);
    at.goesAway();
    await shows(/payment system does not answer/);
    await page.clock.runFor(32_000);
    await shows(/not known yet whether your card was charged/);
    at.isAway = false;
    at.lookup = paid;
    await page.clock.runFor(10_000);
    await shows(/Your payment is complete/);
    // A connector that has answered for an order, and does not find it any more, has lost it.
    await press("OK");
    await buys(/^Airport/);
    const error = { code: "ORDER_NOT_FOUND", charged: "no", retry: "safe" };
    at.lookup = { http: 404, status: "Failed", error };
    at.ends(unknown);
    const before = at.lookups;
    const asked = () => page.clock.runFor(1_000).then(() => at.lookups);
    await expect.poll(asked).toBeGreaterThan(before + 3);
    await shows(/not known yet whether your card was charged/);
  });

  test("the outcome of an earlier attempt is not taken for that of a new one", async () => {
    const { page, shows, buys } = await kiosk({}, (one) => one.clock.install());
    const hours = (from: number) => new Date(Date.now() + from * 3_600_000).toISOString();
    await buys(/^Airport/);
    at.ends(declined);
    await shows(/Your card was refused/);
    // The new request is lost; what is looked up then is of a former attempt, or of this one.
    for (const [startedAt, times, end] of [
      [hours(-1), 2, /The payment was not carried out\. Please try again/],
      [hours(1), 1, /Your card was refused/],
    ] as const) {
      at.lookup = { ...declined, attempts: [{ startedAt: hours(-2) }, { startedAt }] };
      await buys("Try again");
      at.goesAway();
      await shows(/payment system does not answer/);
      const before = at.lookups;
      at.isAway = false;
      const later = () => page.clock.runFor(500).then(() => page.locator("main").innerText());
      await expect.poll(later).toMatch(end);
      expect(at.lookups - before).toBe(times);
    }
  });

  test("once the approval is known no cancel is possible, and one before it counts", async () => {
    const { page, shows, press, buys, reported } = await kiosk();
    const cancels = at.cancels;
    await buys(/^Airport/);
    expect(await page.locator("#cancel").isEnabled()).toBe(true);
    at.announce("payment", { state: "approved", secondsLeft: 30 });
    await expect.poll(() => page.locator("#cancel").isVisible()).toBe(false);
    at.ends(approved);
    await shows(/Your payment is complete/);
    expect([at.cancels, reported()]).toEqual([cancels, [true]]);
    await press("OK");
    // The approval crosses the cancel: no goods, and the sale is taken back.
    const answered = Promise.withResolvers<void>();
    at.cancelAnswered = answered.promise;
    await buys(/^Airport/);
    await press("Cancel");
    await expect.poll(() => at.cancels).toBe(cancels + 1);
    await shows(/You have asked to cancel this payment/);
    at.ends(approved);
    await shows(/The payment was cancelled\. You have not been charged/);
    expect(reported()).toEqual([true, false]);
    // A cancel that is still on its way would end the next payment.
    const before = at.payments.length;
    await press("Try again");
    await shows(/One moment, please/);
    expect(at.payments.length).toBe(before);
    answered.resolve();
    await expect.poll(() => at.payments.length).toBe(before + 1);
    at.ends(declined);
    await shows(/Your card was refused/);
    await press("Finish");
    await shows(/Which ticket would you like/);
    expect(await page.locator("#listed").isVisible()).toBe(false);
  });

  test("nothing is reported of a ticket that may be out; the staff is called", async () => {
    const broken = `
      export const handOut = () => new Promise(() => undefined);
      export const wasHandedOut = async () => undefined;
      export const forget = async () => {};
    `;
    const { page, shows, press, buys, reported } = await kiosk({}, () => {
      at.files = { "dispenser.js": broken };
    });
    const listed = page.locator("#listed");
    await buys(/^Airport/);
    at.lookup = approved;
    at.ends(approved);
    await shows(/Your ticket is being printed/);
    await page.reload();
    await shows(/not known whether your ticket came out\. Please ask the staff\.\s+Order num/);
    expect(await page.locator("main button:visible:enabled").count()).toBe(0);
    at.lookup = unconfirmed;
    await shows(/Please ask the staff\. You have not been charged\.\s+Order number: T./);
    await press("OK");
    // The order stays listed until the staff has seen to it, after a reload too.
    await page.reload();
    await shows(/Which ticket would you like/);
    await expect.poll(() => listed.innerText()).toBe("For the staff: 1");
    await listed.locator("summary").click();
    expect(await listed.innerText()).toMatch(
      /T-.*Airport.*The card was not charged; it is not known whether the ticket came out\. Done/,
    );
    await press(/^Done T-/);
    await expect.poll(() => listed.locator("[aria-pressed=true]").count()).toBe(1);
    await page.reload();
    await shows(/Which ticket would you like/);
    expect(await listed.isVisible()).toBe(false);
    expect(reported()).toEqual([]);
    // So it is with the sample's own dispenser, once it has begun.
    at.files = {};
    await page.reload();
    const ask = (call: string) => page.evaluate(`import("/dispenser.js").then(${call})`);
    expect(await ask(`(one) => one.wasHandedOut("T-1")`)).toBe(false);
    // The sample's machine is done by a timer, which this page does not see again.
    await page.evaluate("void (window.setTimeout = () => 0)");
    await ask(`(one) => void one.handOut("T-1")`);
    const isOut = () => ask(`(one) => one.wasHandedOut("T-1")`);
    await expect.poll(isOut).toBe(undefined);
    await page.reload();
    expect(await isOut()).toBe(undefined);
  });

  test("a ticket that came out is reported, however late", async () => {
    const slow = `
      export const handOut = () => new Promise(() => sessionStorage.setItem("out", "yes"));
      export const wasHandedOut = async () => sessionStorage.getItem("out") === "yes";
      export const forget = async () => {};
    `;
    const { page, shows, buys, reported } = await kiosk({}, () => {
      at.files = { "dispenser.js": slow };
    });
    await buys(/^Airport/);
    at.ends(approved);
    await shows(/Your ticket is being printed/);
    at.lookup = unconfirmed;
    const error = { code: "DELIVERY_DECIDED", charged: "no", retry: "never" };
    at.lateDelivery = { http: 409, status: "Failed", error };
    await page.reload();
    await shows(/Please ask the staff\. You have not been charged\.\s+Order number: T./);
    expect(reported()).toEqual([true]);
    await page.locator("#listed summary").click();
    expect(await page.locator("#listed").innerText()).toMatch(
      /The card was not charged; the ticket came out\./,
    );
  });

  test("a ticket that is out while its charge is not known is kept for the staff", async () => {
    const { shows, buys, reported } = await kiosk();
    at.lateDelivery = { http: 504, ...unknown };
    await buys(/^Airport/);
    at.ends(approved);
    await shows(
      /not known yet whether your card was charged.*\s+Order number: T.*\s+Your ticket came/,
    );
    expect(reported()).toEqual([true]);
  });

  test("hands nothing out for an order whose customer has left", async () => {
    const { page, shows, press, buys, reported } = await kiosk({}, (one) => one.clock.install());
    const line = () => page.locator("#listed li").innerText();
    await buys(/^Airport/);
    at.ends(unknown);
    await shows(/not known yet whether your card was charged/);
    await press("OK");
    await shows(/Which ticket would you like/);
    await page.locator("#listed summary").click();
    expect(await line()).toMatch(/not known yet whether the card was charged/);
    // An operator has settled it meanwhile.
    at.lookup = paid;
    await page.clock.runFor(61_000);
    await expect.poll(line).toMatch(/The card was charged; the ticket did not come out\./);
    expect(await page.locator("main").innerText()).toMatch(/Which ticket would you like/);
    await buys(/^Day ticket/);
    at.ends(paid);
    await shows(/Day ticket[\s\S]*Your payment is complete/);
    at.lookup = { status: "Reversed", error: null };
    await page.reload();
    await expect.poll(() => page.locator("#listed").isVisible()).toBe(false);
    expect(reported()).toEqual([]);
  });

  test("pays no order that a power cut would lose", async () => {
    const full = `
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (...given) {
        if (given[2]?.durability === "strict") throw new Error("the disk is full");
        return transaction.apply(this, given);
      };
    `;
    const { shows, press } = await kiosk({}, (one) => one.addInitScript(full));
    const before = at.payments.length;
    await shows(/Which ticket would you like/);
    await press(/^Airport/);
    await shows(/Card payment is not possible here at the moment\. You have not been charged/);
    expect(at.payments.length).toBe(before);
  });

  test("what was decided about the goods is sent until it is answered, and only that", async () => {
    const failing = `
      export async function handOut() {
        const tries = Number(sessionStorage.getItem("tries"));
        sessionStorage.setItem("tries", tries + 1);
        return tries > 0;
      }
      export const wasHandedOut = async () => false;
      export const forget = async () => {};
    `;
    for (const [one, delivered, end] of [
      [dispenser, true, /Your payment is complete/],
      [failing, false, /Your goods could not be handed out/],
    ] as const) {
      const { page, shows, buys } = await kiosk({}, () => {
        at.files = { "dispenser.js": one };
      });
      const before = at.deliveries.length;
      const since = () => at.deliveries.slice(before);
      at.losesDeliveries = true;
      await buys(/^Airport/);
      const { orderId } = at.payments.at(-1) ?? {};
      at.lookup = { ...approved, orderId };
      at.ends(approved);
      await expect.poll(() => since().length).toBeGreaterThan(1);
      await shows(/payment system does not answer/);
      await page.reload();
      const sentBefore = since().length;
      await expect.poll(() => since().length).toBeGreaterThan(sentBefore);
      at.losesDeliveries = false;
      await shows(end);
      const sent = { orderId, delivered };
      expect(new Set(since().map((one) => JSON.stringify(one)))).toEqual(
        new Set([JSON.stringify(sent)]),
      );
      // A new attempt decides anew.
      if (!delivered) {
        await buys("Try again");
        at.ends(approved);
        await shows(/Your payment is complete/);
        expect(at.deliveries.at(-1)).toEqual({ orderId, delivered: true });
      }
    }
  });
});
