import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AppError } from "../../src/shared/catalog/errors.ts";
import type { SendingStep } from "../../src/shared/ipc/contract.ts";
import type { ApiOptions } from "../../src/tp-manager/http/app.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { type House, house, pay, request } from "../support/house/payment-house.ts";
import { rowsOf } from "../support/run/scope.ts";
import { declined } from "../support/terminals/reports.ts";
import { approves, lost, saleReport } from "../support/terminals/scripted-terminal.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { consoleHouse, consolePage, easyForAll, untranslated } from "./console-house.ts";
import { everyState } from "./pictures.ts";

const HOUR_MS = 3_600_000;
const hostile = `=HYPERLINK("http://evil.test")<img src=x onerror=alert(1)>`;

const isTooWide = "document.documentElement.scrollWidth > innerWidth";

/** Eleven in the morning of the machine's own day: the browser has the same. */
function morning(): number {
  return new Date().setHours(11, 0, 0, 0);
}

/** Nine orders of this morning: sold, declined, given back, and one that nobody knows. */
async function busyHouse(): Promise<House> {
  const at = house(undefined, undefined, { clock: new TestClock(morning() - 3 * HOUR_MS) });
  at.start();
  const sell = (orderId: string, amountMinor: number) =>
    pay(at, request(orderId, { amountMinor, echo: { amount: amountMinor / 100 } }));
  for (const [index, name] of ["A-1001", "A-1002", hostile, "B-7", "B-8"].entries()) {
    at.terminal.script = async (order, observer, paid) => {
      await at.clock.advance(4_000 + index * 1_500);
      return await approves(order, observer, paid);
    };
    await sell(name, 250 + index * 100);
    await at.clock.advance(HOUR_MS / 2);
  }
  at.terminal.script = (order, observer) => {
    observer.report(declined({ amountMinor: order.amountMinor }));
    const text = "do not honour";
    return Promise.resolve({ end: "aborted", code: "05", reason: "declined", text, ticket: "" });
  };
  await sell("C-1", 999);
  at.terminal.stores(saleReport(4, { amountMinor: 650 }));
  await at.afterSale.reverse("B-8");
  const hour = new Date(at.clock.now()).setMinutes(0, 0, 0);
  for (const [back, noLinkMs] of [
    [2, 0],
    [1, 600_000],
    [0, 120_000],
  ] as const) {
    const row = { readyMs: HOUR_MS - noLinkMs - 60_000, refusingMs: 60_000, noLinkMs };
    at.journal.days.addHour({ atMs: hour - back * HOUR_MS, ...row, waitingMax: back * 2 }, 0);
  }
  return at;
}

const standing = {
  known: true,
  state: "captured",
  fraudReported: false,
  transactionPublicIds: ["0A1B2C3D4E5F6071"],
  events: [
    {
      atMs: morning(),
      kind: "operation",
      operation: "capture",
      status: "ok",
      copies: 1,
      transactionPublicId: "0A1B2C3D4E5F6071",
      details: {},
    },
  ],
  operations: [],
  sending: [
    step({ step: "queued" }),
    step({ step: "try", number: 1, outcome: "not-taken", description: "amount invalid" }),
    step({ step: "parked", description: "the gateway refused: amount invalid" }),
    step({ step: "requeue", by: "Ada (operator)", description: "corrected" }),
    step({ step: "try", number: 2, outcome: "not-known", description: "no answer in time" }),
    step({ step: "drop", description: "booked by hand" }),
    step({ step: "try", number: 3, outcome: "taken", description: "N/A" }),
  ].map((one, minutes) => ({ ...one, atMs: one.atMs + 60_000 * minutes })),
};

function step(change: Partial<SendingStep>): SendingStep {
  const nothing = { number: null, outcome: null, class: null, description: "", by: null };
  return { atMs: morning(), step: "queued", ...nothing, ...change };
}

/** A supervisor that knows every order, and a gateway whose first answer is lost. */
function atGateway(at: House, asked: unknown[][]): Partial<ApiOptions> {
  const nothing = { items: [], operations: [], copies: [], more: false };
  // What was not charged never came to the gateway.
  const ask = (name: string, about: { orderId: string }): unknown =>
    name === "gateway-history" ? { ...standing, known: !/^[CD]/.test(about.orderId) } : nothing;
  const gateway = {
    reconcile: (attempt: unknown) => Promise.resolve(attempt),
    ask: (
      kind: string,
      target: object,
      readAmount: (currency: object) => unknown,
      { idempotencyKey }: { idempotencyKey: string | undefined },
    ) => {
      const currency = { alpha: "EUR", exponent: 2, numeric: "978" };
      const amountMinor = readAmount(currency);
      asked.push([kind, target, amountMinor, idempotencyKey]);
      if (asked.length === 1) throw new AppError("GATEWAY_OPERATION_UNKNOWN");
      const operation = { operationId: "1", transactionPublicId: "0A1B", code: 0, description: "" };
      return Promise.resolve({
        operation,
        orderId: "A-1001",
        currency,
        amountMinor: amountMinor ?? null,
        replayed: true,
      });
    },
  };
  return {
    supervisor: {
      ask: (name: string, about: { orderId: string }) => Promise.resolve(ask(name, about)),
    },
    gateway,
    clock: at.clock,
  } as unknown as Partial<ApiOptions>;
}

const body = (page: Page): Promise<string> => page.locator("main").innerText();
const say = (page: Page) => expect.poll(() => body(page));

describe.skipIf(!haveChromium)("payments and the day in the console", () => {
  const browser = browserForSuite();

  async function opened(view: string) {
    const at = await busyHouse();
    const asked: unknown[][] = [];
    const { url } = await consoleHouse(atGateway(at, asked), at);
    const { page, context, faults } = await consolePage(browser(), `${url}/#${view}`);
    return { at, url, page, context, faults, asked };
  }

  test("a payment is searched, read and refunded in part, by keyboard alone", async () => {
    const { page, faults, asked, at } = await opened("payments");
    await say(page).toMatch(/6 payments/);
    await page.getByLabel("Order").focus();
    await page.keyboard.type("a-10");
    await page.keyboard.press("Enter");
    await say(page).toMatch(/2 payments/);
    const [first, last] = [page.getByLabel("From").first(), page.getByLabel("Until").first()];
    await first.fill(await last.inputValue());
    for (const [from, until, found] of [
      ["08:00", "08:00", /A-1001/],
      ["08:30", "", /A-1002/],
    ] as const) {
      await page.getByLabel("From, time").fill(from);
      await page.getByLabel("Until, time").fill(until);
      await page.keyboard.press("Enter");
      await say(page).toMatch(/1 payment\./);
      expect(await body(page)).toMatch(found);
    }
    await page.getByLabel("From, time").fill("");
    await page.getByLabel("Amount").fill("2,50");
    await page.keyboard.press("Enter");
    await say(page).toMatch(/1 payment\./);
    await page.getByRole("link", { name: "A-1001" }).focus();
    await page.keyboard.press("Enter");
    await say(page).toMatch(/The customer has paid/);
    expect(await body(page)).toMatch(/The terminal reported a sale of EUR\s2.50 \(Master.*\)\./);
    expect(await body(page)).toMatch(/Part to refund, up to EUR\s2\.50/);
    expect(await body(page)).not.toMatch(/5413330000004444/);
    const way = await page.locator("#gateway-title ~ .steps").innerText();
    expect(way.split("\n").filter((line) => !/^\W*\d.*\d$|AM$|PM$/.test(line))).toEqual([
      "The order was stored to be sent to the gateway.",
      "Attempt 1: the gateway did not accept the order. amount invalid",
      "The order is not sent until an operator decides.",
      "Ada (operator) had the order sent again. corrected",
      "Attempt 2: no clear answer; the gateway may have the order. no answer in time",
      "A person closed the order without sending it. booked by hand",
      "Attempt 3: the gateway accepted the order.",
    ]);
    for (const end of [/Whether it was done is not known/, /nothing was sent now/]) {
      await page.getByLabel(/Part to refund/).fill("1.20");
      const refund = page.getByRole("button", { name: "Refund this part" });
      await expect.poll(() => refund.isEnabled()).toBe(true);
      await page.keyboard.press("Enter");
      const dialogue = page.getByRole("dialog");
      await expect.poll(() => dialogue.innerText()).toMatch(/pays back EUR\s1.20 of order A-1001/);
      await dialogue.getByLabel("Your name").fill("Anna");
      await dialogue.getByLabel("Reason").fill("goods were cold");
      await page.keyboard.press("Enter");
      await say(page).toMatch(end);
    }
    // A second press has the key of the first one, whose outcome it asks for.
    const key = expect.stringMatching(/^[a-p]{32}$/);
    expect(asked).toEqual([["refund", { orderId: "A-1001" }, 120, key], asked[0]]);
    expect(at.terminal.reversed).toHaveLength(1);
    await page.getByRole("button", { name: /Back to the list/ }).click();
    await say(page).toMatch(/1 payment\./);
    expect(faults.filter((fault) => !fault.includes("status of 504"))).toEqual([]);
  });

  test("a narrow list is still a table to a screen reader; a ticket is printed alone", async () => {
    const { page, context, url } = await opened("payments");
    await page.setViewportSize({ width: 360, height: 900 });
    await say(page).toMatch(/6 payments/);
    const { nodes } = await (await context.newCDPSession(page)).send("Accessibility.getFullAXTree");
    const count = (role: string) => nodes.filter((one) => one.role?.value === role).length;
    expect([count("table"), count("row"), count("columnheader"), count("cell")]).toEqual([
      1, 7, 6, 36,
    ]);
    await page.goto(`${url}/#payments/B-8`);
    await page.emulateMedia({ media: "print" });
    await page.evaluate(`window.print = () => {
      const seen = (selector) => [...document.querySelectorAll(selector)]
        .filter((one) => getComputedStyle(one).visibility === "visible").length;
      window.printed = [seen(".paper"), seen("h1"), seen("button")];
    }`);
    await page
      .getByRole("button", { name: /^Print/ })
      .first()
      .click();
    expect(await page.evaluate("window.printed")).toEqual([1, 0, 0]);
    expect(await page.locator(".printed, .printing").count()).toBe(0);
  });

  test("every state of the views is easy to use in light and dark, wide and narrow", async () => {
    const at = await busyHouse();
    at.terminal.script = () => Promise.resolve(lost("the link was lost"));
    at.terminal.last = { kind: "not-told", why: "busy" };
    await pay(at, request("D-1", { amountMinor: 1_250, echo: { amount: 12.5 } }));
    const { url } = await consoleHouse(atGateway(at, []), at);
    const { page, faults } = await consolePage(browser(), `${url}/#payments`, { bypassCSP: true });
    await say(page).toMatch(/7 payments/);
    await easyForAll(page, "payments");
    const order = async (orderId: string, expected: RegExp) => {
      await page.goto(`${url}/#payments/${encodeURIComponent(orderId)}`);
      await say(page).toMatch(expected);
      const what = orderId === "A-1001" ? "a view" : "more of a view";
      await easyForAll(page, `timeline-${orderId.replaceAll(/\W/g, "")}`, what);
    };
    await order("A-1001", /has paid/);
    await order("D-1", /Whether the customer has paid is not known/);
    await page.getByRole("button", { name: "Settle it under “In doubt”" }).click();
    const head = () => page.evaluate("document.activeElement.innerText");
    await expect.poll(head).toMatch(/Order D-1: EUR/);
    await say(page).toMatch(/What did you find out/);
    if (everyState) {
      await order("C-1", /declined[\s\S]*541333XXXXXX4444/);
      await order("B-8", /still has its order[\s\S]*Paid back\s+EUR\s6\.50, /);
    }
    await page.goto(`${url}/#payments/A-1001`);
    await page.getByRole("button", { name: "Reverse on the terminal" }).click();
    await page.getByRole("dialog").waitFor();
    await easyForAll(page, "timeline-ask", "a further state");
    await page.getByRole("button", { name: "Do nothing" }).click();
    const languages = [
      ["de", /hat bezahlt/],
      ["fr", /a payé/],
      ["it", /ha pagato/],
      ["es", /ha pagado/],
    ] as const;
    // The page of the day is looked at in French too.
    for (const [language, expected] of everyState ? languages : rowsOf(languages, 2)) {
      await page.locator("header select").selectOption(language);
      await say(page).toMatch(expected);
      if (everyState) await easyForAll(page, `timeline-${language}`);
      else expect([await page.evaluate(isTooWide), await untranslated(page)]).toEqual([false, []]);
    }
    expect(faults).toEqual([]);
  });

  test("a day is shown in charts with tables, closed, and saved for a spreadsheet", async () => {
    const { page, faults, url } = await opened("day");
    await say(page).toMatch(/Sales\s+5/);
    expect(await body(page)).toMatch(/Share that was paid\s+83.3%/);
    // Sales, refused, unknown, share, charged, returned: none is more prominent than another.
    const sizes = (await page.evaluate(`[
      ...document.querySelectorAll("[aria-labelledby=totals-title] dd"),
    ].map((figure) => getComputedStyle(figure).fontSize)`)) as string[];
    expect([sizes.length, new Set(sizes).size]).toEqual([6, 1]);
    await expect.poll(() => page.locator(".plot canvas").count()).toBe(5);
    await page.locator("summary", { hasText: "Payments by hour: the figures" }).click();
    expect(await page.getByRole("table", { name: "Payments by hour" }).innerText()).toMatch(
      /08:00/,
    );
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as CSV" }).click();
    const file = await (await saving).path();
    const text = readFileSync(file, "utf8");
    expect(text.split("\r\n")).toHaveLength(8);
    expect(text).toContain(`"'=HYPERLINK(""http://evil.test"")<img src=x onerror=alert(1)>"`);
    await page.getByRole("button", { name: "Run the end of day" }).click();
    await page.getByRole("dialog").getByLabel("Your name").fill("Anna");
    await page.getByRole("dialog").getByLabel("Reason").fill("evening");
    await page.getByRole("button", { name: "Run it now" }).click();
    await say(page).toMatch(/The end of day has been run/);
    await say(page).toMatch(/completed/);
    await page.goto(`${url}/#day/2020-01-01`);
    await say(page).toMatch(/nothing to show for this day/);
    expect(await page.locator("summary").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("the page of the day is easy to use in light and dark, wide and narrow", async () => {
    const at = await busyHouse();
    await at.upkeep.telecollect();
    const { url } = await consoleHouse(atGateway(at, []), at);
    const { page, faults } = await consolePage(browser(), `${url}/#day`, { bypassCSP: true });
    await expect.poll(() => page.locator(".plot canvas").count()).toBe(5);
    if (everyState) await easyForAll(page, "day");
    for (const summary of await page.locator("summary").all()) await summary.click();
    await easyForAll(page, "day-tables");
    await page.locator("header select").selectOption("fr");
    await say(page).toMatch(/Paiements par heure/);
    await say(page).toMatch(/n’a annoncé aucun total[\s\S]*annulée au terminal, et la passer/);
    expect(await untranslated(page)).toEqual([]);
    if (everyState) await easyForAll(page, "day-fr");
    await page.goto(`${url}/#day/2020-01-01`);
    await say(page).toMatch(/rien à montrer/);
    if (everyState) await easyForAll(page, "day-empty");
    expect(faults).toEqual([]);
  });
});
