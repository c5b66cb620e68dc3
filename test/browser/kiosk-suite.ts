import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BrowserContext, Page, Request, Route } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  customerMessageName,
  customerMessageOfCode,
  customerMessages,
} from "../../src/client/customer-messages.ts";
import { openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { writeTicket } from "../../src/shared/process/kiosk-ticket.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { freePort } from "../support/programs/installation.ts";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { axeFaults } from "./axe-faults.ts";
import { besieged } from "./besieged.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { GuardedHouse } from "./guarded-house.ts";
import { pictured } from "./pictures.ts";
import { hardToUse, sizes } from "./readable.ts";

const operator = { OPERATOR_LOGIN: "operator", OPERATOR_PWD: "maintenance-password" };
const pair = `${operator.OPERATOR_LOGIN}:${operator.OPERATOR_PWD}`;
const asOperator = { headers: { authorization: `Basic ${btoa(pair)}` } };
const app = join(projectRoot, "examples/kiosk");
const byHand = ["--customer", "manual", "--host-delay-ms", "0"];

test("the sample's messages for the customer are those of the client", async () => {
  const sample = await import(pathToFileURL(join(app, "customer-messages.js")).href);
  expect(sample.customerMessages).toEqual(customerMessages);
  for (const code of [...Object.keys(customerMessageOfCode), "OTHER"]) {
    for (const charged of ["no", "yes", "unknown"] as const) {
      const reported = { status: "Failed", error: { code, charged } };
      expect(sample.customerMessageName(reported)).toBe(customerMessageName(reported));
    }
  }
});

describe.skipIf(!haveChromium)("the sample kiosk", () => {
  const browser = browserForSuite();
  let at: GuardedHouse;
  let context: BrowserContext;
  let page: Page;
  let url: string;
  const complaints: string[] = [];
  beforeAll(async () => {
    if (!haveChromium) return;
    const port = await freePort();
    at = new GuardedHouse({
      terminalSwitches: [...byHand, "--vending"],
      config: { KIOSK_PORT: port, KIOSK_APP: app, ...operator },
    });
    url = `http://localhost:${port}/`;
    await at.start();
    await at.connected();
    context = await browser().newContext();
    page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) complaints.push(message.text());
    });
    await open();
  });
  afterAll(() => at?.stop());

  const open = () => page.goto(`${url}#ticket=${writeTicket(openRunDirectory(at.data))}`);
  const shows = (expected: RegExp) =>
    expect.poll(() => page.locator("main").innerText()).toMatch(expected);
  const press = (name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();
  const say = (command: string) => at.control("POST", "/words", { word: command, within: 20 });
  const orderId = () =>
    page.evaluate(`new Promise((resolve) => {
      indexedDB.open("kiosk").onsuccess = ({ target: { result } }) => {
        const request = result.transaction("kiosk").objectStore("kiosk").get("orders");
        request.onsuccess = () => {
          result.close();
          resolve(request.result?.current?.orderId);
        };
      };
    })`);
  const ledger = async () => (await at.ledger()).charged;
  let chargedBefore = 0;
  /** Cents that were charged since the test began. */
  const charged = async () => (await ledger()) - chargedBefore;
  beforeEach(async () => {
    if (haveChromium) chargedBefore = await ledger();
  });

  test("a ticket is chosen, paid with live prompts, and issued before it is charged", async () => {
    await press(/^Airport/);
    await shows(/Airport, 12\.00\sEUR[\s\S]*card[\s\S]*Time left: [23] minutes/i);
    expect(page.url()).toBe(url);
    expect(await hardToUse(page)).toEqual([]);
    await pictured(page, "kiosk/paying");
    // The terminal's prompts follow the page's language, after a reload too.
    for (const reload of [async () => {}, () => page.reload()]) {
      await press("DE");
      await shows(/Flughafen, 12,00\sEUR\s+[^.]*Karte/);
      await reload();
      await shows(/Flughafen, 12,00\sEUR\s+[^.]*Karte/);
      await press("EN");
      await shows(/Airport, 12\.00\sEUR\s+[^.]*card/i);
    }
    const printed = Promise.withResolvers<void>();
    const print = (route: Route) => printed.promise.then(() => route.continue());
    await page.route("**/api/delivery", print, { times: 1 });
    await say("approve");
    await shows(/Your ticket is being printed/);
    await pictured(page, "kiosk/printing", /status of 504/);
    printed.resolve();
    await shows(/Your payment is complete/);
    expect(await charged()).toBe(1200);
    await pictured(page, "kiosk/paid");
    for (const [language, paid] of [
      ["FR", /Votre paiement est effectué/],
      ["IT", /Il Suo pagamento è completato/],
      ["ES", /Su pago se ha completado/],
    ] as const) {
      await press(language);
      await shows(paid);
      expect(await hardToUse(page)).toEqual([]);
    }
    await press("EN");
    await press("OK");
    await shows(/Which ticket would you like/);
  });

  // A connector before 2026 said of any call without a session that nothing was charged.
  const refusals = [
    ["of an older connector", { charged: "no", retry: "safe" }],
    ["of today", { charged: "unknown", retry: "same_order" }],
  ] as const;
  test.each(rowsOf(refusals, 2))(
    "a 401 %s to the delivery call says nothing about the money",
    async (_, command) => {
      await press(/^Airport/);
      await at.waitsForCard();
      const error = { code: "UNAUTHORIZED", ...command };
      const refuse = { status: 401, json: [{ status: "Failed", error }] };
      await page.route("**/api/delivery", (route) => route.fulfill(refuse), { times: 1 });
      await say("approve");
      await shows(/Your payment is complete/);
      expect(await charged()).toBe(1200);
      await press("OK");
    },
  );

  test("a declined customer is informed, and tries the same order again", async () => {
    await press(/^Old town/);
    await say("decline");
    await shows(/Your card was refused[\s\S]*not been charged/);
    await pictured(page, "kiosk/declined", /status of 401/);
    const first = await orderId();
    await press("Try again");
    await at.waitsForCard();
    expect(await orderId()).toBe(first);
    await say("approve");
    await shows(/Your payment is complete/);
    expect(await charged()).toBe(200);
    await press("OK");
  });

  // Elsewhere the connector is played (kiosk-access-suite.ts).
  test.skipIf(!isWhole)("a cancel that crosses the approval takes no goods back", async () => {
    const answered = Promise.withResolvers<void>();
    const hold = (route: Route) => answered.promise.then(() => route.continue());
    await page.route("**/api/cancel", hold, { times: 1 });
    await press(/^Old town/);
    await at.waitsForCard();
    await press("Cancel");
    await say("approve");
    await shows(/The payment was cancelled\. You have not been charged/);
    expect(await charged()).toBe(0);
    await press("Try again");
    answered.resolve();
    await at.waitsForCard();
    await say("approve");
    await shows(/Your payment is complete/);
    expect(await charged()).toBe(200);
    await press("OK");
  });

  test("pages of other origins reach nothing of a session in the middle of a payment", async () => {
    await press(/^Old town/);
    await at.waitsForCard();
    const before = { order: await orderId(), wire: await at.wire() };
    const token = String(await page.evaluate("Object.values(sessionStorage).join()"));
    expect(token).toMatch(/[\w-]{43}/);
    const isEmpty = (copy: Page) =>
      expect.poll(() => copy.locator("main").innerText()).toMatch(/being started again/);
    // Both servers guard their pages in one way: the console is attacked from other hosts too.
    const { read, sent } = await besieged(context, url, "kiosk.js", isEmpty, "its own host");
    expect(read).toEqual([]);
    expect(await context.cookies()).toEqual([]);
    expect(sent.filter(({ cookie, authorization }) => cookie ?? authorization)).toEqual([]);
    expect(JSON.stringify(sent)).not.toContain(token);
    expect({ order: await orderId(), wire: await at.wire() }).toEqual(before);
    await say("approve");
    await shows(/Your payment is complete/);
    expect(await charged()).toBe(200);
    await press("OK");
  });

  test("a reload in the middle of a payment finds it again, and it is charged once", async () => {
    await press(/^Day ticket/);
    await at.waitsForCard();
    const before = await orderId();
    await page.reload();
    // The prompt of the payment came before the reload.
    await shows(/Day ticket, 7\.00\sEUR\s+[^.]*card/i);
    expect(await orderId()).toBe(before);
    await say("approve");
    await shows(/Your payment is complete/);
    expect(await charged()).toBe(700);
    await press("OK");
  });

  test("two presses at the same moment begin one order", async () => {
    const paid: string[] = [];
    const note = (request: Request) => {
      if (/api.payment$/.test(request.url())) paid.push(request.postDataJSON().orderId);
    };
    page.on("request", note);
    await page.evaluate("for (const one of tickets.children) one.click()");
    await at.waitsForCard();
    expect(paid).toEqual([await orderId()]);
    await say("decline");
    await shows(/Your card was refused/);
    await page.evaluate("again.click(); again.click()");
    await shows(/Old town, 2\.00\sEUR/);
    await at.waitsForCard();
    expect(await orderId()).toBe(paid[0]);
    await say("approve");
    await shows(/Your payment is complete/);
    page.off("request", note);
    expect(new Set(paid).size).toBe(1);
    expect(await charged()).toBe(200);
    await press("OK");
  });

  test("a second page of the same kiosk waits for the first, and hands nothing out", async () => {
    const reported: string[] = [];
    const note = (request: Request) => {
      if (/api.delivery$/.test(request.url())) reported.push(request.postDataJSON().orderId);
    };
    context.on("request", note);
    await press(/^Day ticket/);
    await at.waitsForCard();
    const order = await orderId();
    const opening = context.waitForEvent("page");
    // With a copy of the session.
    await page.evaluate("void open(location.href)");
    const second = await opening;
    await expect.poll(() => second.locator("main").innerText()).toMatch(/being started again/);
    await say("approve");
    await shows(/Your payment is complete/);
    context.off("request", note);
    expect(reported).toEqual([order]);
    expect(await charged()).toBe(700);
    await page.close();
    // The first one is away, and nothing is left to be paid or handed out.
    await expect
      .poll(() => second.locator("main").innerText())
      .toMatch(/Which ticket would you like/);
    page = second;
  });

  test("an order that may be lost is never shown as not charged", async () => {
    await page.route("**/api/payment", (route) => route.abort(), { times: 1 });
    const error = { code: "ORDER_NOT_FOUND", charged: "unknown", retry: "same_order" };
    let asked = 0;
    const lost = (route: Route) => {
      asked++;
      return route.fulfill({ status: 404, json: [{ status: "Failed", error }] });
    };
    await page.route("**/api/payment/*", lost);
    await press(/^Old town/);
    await expect.poll(() => asked).toBeGreaterThan(2);
    await shows(/not known yet whether your card was charged/);
    await pictured(page, "kiosk/unknown", /status of 404/);
    const order = await orderId();
    expect(order).toBeDefined();
    await page.unroute("**/api/payment/*", lost);
    await shows(/not been charged/);
    await pictured(page, "kiosk/not-charged", /status of 404/);
    expect(await orderId()).toBe(order);
    await press("Try again");
    await at.waitsForCard();
    await say("approve");
    await shows(/Your payment is complete/);
    expect(await charged()).toBe(200);
    await press("OK");
  });

  test("without a ticket of the start script the sample offers nothing to buy", async () => {
    const other = await (await browser().newContext()).newPage();
    onTestFinished(() => other.close());
    await other.goto(url);
    await expect.poll(() => other.locator("main").innerText()).toMatch(/being started again/);
    await pictured(other, "kiosk/no-session", /status of 401/);
    expect(await other.getByRole("button", { name: /Airport/ }).isVisible()).toBe(false);
  });

  test("the sample is easy to use, and its own content policy blocks no part of it", async () => {
    const fresh = await (await browser().newContext()).newPage();
    onTestFinished(() => fresh.close());
    await fresh.goto(`${url}#ticket=${writeTicket(openRunDirectory(at.data))}`);
    await expect.poll(() => fresh.locator("main").innerText()).toMatch(/Which ticket would you/);
    for (const [name, expected] of [
      ["FR", /^Quel billet souhaitez-vous \?[\s\S]*Aéroport\s+12,00\sEUR/],
      ["DE", /^Welche Fahrkarte möchten Sie\?[\s\S]*Flughafen\s+12,00\sEUR/],
      ["EN", /^Which ticket would you like\?[\s\S]*Airport\s+12\.00\sEUR/],
    ] as const) {
      await fresh.getByRole("button", { name, exact: true }).click();
      expect(await fresh.locator("main").innerText()).toMatch(expected);
      for (const size of sizes) {
        await fresh.setViewportSize(size);
        expect([name, size, await hardToUse(fresh)]).toEqual([name, size, []]);
      }
    }
    expect(await axeFaults(fresh)).toEqual([]);
    await pictured(fresh, "kiosk/start");
    expect(complaints).toEqual([]);
  });

  // The last one: a program that a test has started ends with it.
  test("after a power cut an unknown order stays until an operator settles it", async () => {
    await press(/^Old town/);
    await at.waitsForCard();
    const before = await orderId();
    await at.tpManager?.end("SIGKILL");
    await shows(/payment system does not answer/);
    await pictured(page, "kiosk/connector-away");
    await say("red");
    expect(await charged()).toBe(0);
    // The terminal comes back in another mode: it does not wait for goods.
    const config = { KIOSK_PORT: new URL(url).port, KIOSK_APP: app, ...operator };
    await at.changeTerminal({ terminalSwitches: byHand, config });
    await shows(/being started again/);
    // The start script opens the page anew; a new fragment alone would not load it again.
    await page.goto("about:blank");
    await open();
    const number = String(before).replaceAll("-", ".");
    await shows(new RegExp(`not known yet whether your card was charged.*\\s.*${number}`));
    expect(await page.locator("main").innerText()).not.toMatch(/not been charged/);
    expect(await page.getByRole("button", { name: /Airport/ }).isVisible()).toBe(false);
    const command = { outcome: "not_charged", note: "the terminal's journal" };
    const settled = await at.call("POST", `/payment/${before}/settle`, command, asOperator);
    expect(settled.http).toBe(200);
    await shows(/not been charged/);
    expect(await ledger()).toBe(0);
    expect(await orderId()).toBe(before);
    const answered: unknown[] = [];
    page.on("response", (response) => {
      const sent = response.request().postDataJSON();
      if (/api.payment$/.test(response.url())) answered.push([response.status(), sent.orderId]);
    });
    await press("Try again");
    await say("approve");
    await shows(/Your payment is complete/);
    expect(answered).toEqual([501, 200].map((http) => [http, before]));
    expect(await ledger()).toBe(200);
    expect(await orderId()).toBeUndefined();
    await press("OK");
    await shows(/Which ticket would you like/);
    await at.tpManager?.end("SIGKILL");
    await shows(/^Out of service/);
    expect(await page.getByRole("button", { name: /Airport/ }).isVisible()).toBe(false);
  });
});
