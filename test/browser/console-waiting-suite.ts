import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { IpcError } from "../../src/shared/ipc/client.ts";
import { SupervisorLink } from "../../src/tp-manager/supervisor/supervisor-link.ts";
import { houseOf, loses, running, sold } from "../support/house/by-id-house.ts";
import { house, pay, request } from "../support/house/payment-house.ts";
import { baseline, declined, identity, report } from "../support/terminals/reports.ts";
import { approves, lost } from "../support/terminals/scripted-terminal.ts";
import { chargedAtGateway } from "../tp-manager/http/charged-at-gateway.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { consoleHouse, consolePage, easyForAll } from "./console-house.ts";
import { pictured } from "./pictures.ts";

async function agree(page: Page): Promise<void> {
  await page.getByLabel("Your name").fill("Anna");
  await page.getByLabel("Reason").fill("looked at it");
  await page.locator("dialog button[type=submit]").click();
}

/** The time of day as the page's language writes it. */
const timeOf = (ms: number): string =>
  new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }).format(ms);

/** A supervisor with an empty outbox and nothing open at the gateway. */
const emptyOutbox: ConstructorParameters<typeof SupervisorLink>[0] = (name) => {
  const answers: Record<string, object> = {
    "gateway-open": { operations: [], copies: [], more: false },
    "outbox-list": { items: [], more: false },
    "outbox-drop": { outcome: "unknown" },
    "outbox-requeue": { outcome: "unknown" },
  };
  const answer = answers[name];
  return answer
    ? Promise.resolve(answer as never)
    : Promise.reject(new IpcError("unreachable", "was never started"));
};
const nothingOpen = new SupervisorLink(emptyOutbox, 1_000);

/** What a person compares before a terminal is accepted. */
const compared = [
  ["Fact", "Accepted", "Now"],
  ["Terminal id", identity.terminalId, "52500009"],
  ["Serial number", identity.serialNumber, "SN-9"],
  ["Device id", identity.deviceId || "not known", identity.deviceId || "not known"],
  ["Version", identity.version || "not known", identity.version || "not known"],
];

/** How much of each table a narrow window hides. */
async function hiddenWidths(page: Page): Promise<unknown> {
  await page.setViewportSize({ width: 360, height: 900 });
  const hidden = await page.evaluate(`[...document.querySelectorAll(".scroll")]
    .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)`);
  await page.setViewportSize({ width: 1280, height: 900 });
  return hidden;
}

describe.skipIf(!haveChromium)("what waits for a person, and what runs", () => {
  const browser = browserForSuite();

  test("a refused hand-off is sent again or closed; a new terminal is accepted", async () => {
    const at = house();
    at.supervisor.refuse = () => {
      throw new IpcError("refused", "no such field", { status: 422 });
    };
    await pay(at, request("A-1"));
    await at.clock.advance(10_000);
    const body = { kind: "receipt-jump", from: "1", to: "3", missing: 1, suspects: [] } as const;
    const jump = { atMs: at.clock.now(), closingId: null, result: "jump", body } as const;
    at.journal.reconciliations.keep(jump, "number-missing");
    const now = { ...identity, terminalId: "52500009", serialNumber: "SN-9" };
    at.terminal.become({ identity: now });
    at.terminal.baseline = { ...baseline, identity: now };
    const { url } = await consoleHouse({ supervisor: nothingOpen }, at);
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    await page.getByRole("link", { name: "In doubt", exact: true }).click();
    const main = () => page.locator("main").innerText();
    await expect.poll(main).toMatch(/Another terminal is connected[\s\S]*52500009/);
    await expect
      .poll(main)
      .toMatch(/Order A-1: .*9\.99, refused by the supervisor, waiting since .*\s+no such field/);
    expect(await main()).toMatch(/Missing receipt numbers between 1 and 3/);
    await easyForAll(page, "doubt-waiting", "more of a view");
    const inDialogue = async (button: string): Promise<void> => {
      await page.getByRole("button", { name: button }).click();
      await page.locator("dialog tr").first().waitFor();
      const rows = await page.locator("dialog tr").all();
      expect(await Promise.all(rows.map((row) => row.locator("th, td").allInnerTexts()))).toEqual(
        compared,
      );
    };
    await inDialogue("Accept the terminal");
    expect(await page.evaluate("document.activeElement.id")).toBe("ask-title");
    await easyForAll(page, "accept-ask", "a further state");
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Maintenance" }).click();
    await inDialogue("Accept the terminal");
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "In doubt", exact: true }).click();
    await page.getByLabel("Language").selectOption("de");
    await expect.poll(main).toMatch(/Ein anderes Terminal ist angeschlossen als das angenommene/);
    expect(await main()).not.toMatch(/POST|GET|another terminal|Transactions|numbers are missing/);
    await page.getByRole("button", { name: "Alarm quittieren", exact: true }).waitFor();
    await easyForAll(page, "doubt-waiting-de", "a further state");
    expect(await hiddenWidths(page)).toEqual([0]);
    await page.getByLabel("Sprache").selectOption("en");
    for (const [name, done] of [
      ["Accept the terminal", /Terminal 52500009 is accepted/],
      ["Send again", /handed off to the supervisor again now/],
      ["Close without sending", /will not be handed off to the supervisor/],
      ["Acknowledge", /Nothing waits for a person/],
    ] as const) {
      await page.getByRole("button", { name }).click();
      await agree(page);
      await expect.poll(main).toMatch(done);
      await at.clock.advance(10_000);
    }
    const kept = at.journal.auditEntries
      .list(99, 9)
      .map(({ call, http }) => [call.split("/").at(-1), http]);
    expect(kept).toEqual([
      ["seen", 200],
      ["drop", 200],
      ["requeue", 200],
      ["accept", 200],
    ]);
  });

  test("what cannot be read is said, and keeps no page from being drawn", async () => {
    const at = house();
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    await pay(at, request("A-1"));
    const { url } = await consoleHouse({ supervisor: nothingOpen }, at);
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    const main = () => page.locator("main").innerText();
    const error = { code: "STORAGE_FAILED", message: "the disk", charged: "unknown" };
    const json = [{ status: "Unknown", error }];
    await page.route("**/api/story/*", (route) => route.fulfill({ status: 503, json }));
    await page.getByRole("link", { name: "In doubt", exact: true }).click();
    await expect
      .poll(main)
      .toMatch(/Order A-1[\s\S]*The connector cannot read or write its journal/);
    await page.goto(`${url}/#payments/%`);
    await expect.poll(main).toMatch(/Order %/);
    await page.getByRole("link", { name: "In doubt", exact: true }).click();
    await page.unroute("**/api/story/*");
    await at.clock.advance(1_000);
    const order = page.locator("section", { hasText: "What did you find out?" });
    const warning = () => order.locator("div[role=status]").innerText();
    const until = timeOf(at.arbiter.inquiries.untilMs() ?? 0);
    const asking = `The connector is still asking the terminal, until about`;
    await expect.poll(warning, { timeout: 30_000 }).toMatch(asking);
    expect(await warning()).toMatch(new RegExp(`^${asking} .*${until}.*\\. Wait: `));
    await expect.poll(() => order.innerText()).toMatch(/afterwards\s+unchanged/);
    await pictured(page, "console/doubt-asking", /status of 503/);
    expect(await order.locator("form").innerText()).toMatch(new RegExp(`^${asking}`));
    await order.getByLabel("Not charged").check();
    await order.getByRole("button", { name: "Settle" }).click();
    expect(await page.locator("dialog").innerText()).toMatch(asking);
    await page.keyboard.press("Escape");
    await page.goto(`${url}/#payments/A-1`);
    await expect.poll(main).toMatch(asking);
    await page.getByRole("link", { name: "In doubt", exact: true }).click();
    // Without its terminal the connector knows no time.
    at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    const later =
      /when the terminal is back and free\. If the terminal comes back, wait: .* If it does not/;
    await expect.poll(warning, { timeout: 30_000 }).toMatch(later);
    at.terminal.become({ link: "connected", linkProblem: null });
    // The status stays Unknown when recovery ends, but the evidence does not.
    at.terminal.last = { kind: "not-told", why: "it forgot" };
    await at.clock.advance(400_000);
    await expect.poll(warning, { timeout: 30_000 }).toBe("");
    for (const list of ["payments?", "unmatched-transactions?", "reconciliation?"]) {
      const path = (to: URL) => `${to.pathname}${to.search}`.startsWith(`/api/${list}`);
      await page.route(path, (route) => route.fulfill({ status: 503, json }));
    }
    await page.reload();
    await expect.poll(main).toMatch(/The connector cannot read or write its journal/);
    expect(await main()).not.toMatch(/Nothing waits for a person/);
    await page.unrouteAll();
  });

  test("a correction against the terminal's report is warned of before it is made", async () => {
    const at = house();
    at.terminal.last = { kind: "not-told", why: "it forgot" };
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return Promise.resolve(lost("line broken"));
    };
    await pay(at, request("A-1"));
    await at.settle({ orderId: "A-1", outcome: "charged", note: "on the receipt (Eve)" });
    const { url } = await consoleHouse({ supervisor: nothingOpen }, at);
    const { page } = await consolePage(browser(), url);
    await page.goto(`${url}/#payments/A-1`);
    await page.getByRole("button", { name: "Settle it" }).click();
    const form = page.locator("form");
    const against = /Likely charged\. The terminal reported a successful result\./;
    await expect.poll(() => page.locator("main").innerText()).toMatch(against);
    // The decision that was made before is offered no more.
    expect(await form.locator("label").allInnerTexts()).toEqual(["Not charged"]);
    expect(await form.innerText()).not.toMatch(against);
    await form.getByLabel("Not charged").check();
    expect(await form.innerText()).toMatch(against);
    await form.getByRole("button", { name: "Settle" }).click();
    expect(await page.locator("dialog").innerText()).toMatch(against);
    await agree(page);
    await expect
      .poll(() => page.locator("main").innerText())
      .toMatch(/Settle as not charged, order A-1: done\./);
  });

  test("a reversal that was requested is shown as one of a paid order", async () => {
    const { at, terminal } = houseOf();
    terminal.script = (_order, observer) => {
      observer.report(sold());
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await pay(at, request("A-1"));
    terminal.reversal = () => Promise.resolve({ ...lost("received"), code: "requested" });
    await at.afterSale.reverse("A-1").catch(() => undefined);
    const { url } = await consoleHouse({ supervisor: nothingOpen }, at);
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    await page.goto(`${url}/#payments/A-1`);
    const main = () => page.locator("main").innerText();
    const paid = /The order was paid\. It is not known yet whether its reversal/;
    await expect.poll(main).toMatch(paid);
    expect(await main()).toMatch(/Charged\s+yes; whether the money went back is not known/);
    await page.getByRole("button", { name: "Settle it" }).click();
    await expect.poll(main).toMatch(/answered about the reversal\s+The terminal has received/);
    expect(await main()).toMatch(paid);
    const form = page.locator("form");
    expect(await form.locator("label").allInnerTexts()).toEqual(["Not reversed", "Reversed"]);
    await form.getByLabel("Not reversed").check();
    await form.getByRole("button", { name: "Settle" }).click();
    const dialog = page.locator("dialog");
    expect(await dialog.innerText()).toMatch(/stands[\s\S]*The money may still go back/);
    await agree(page);
    await expect.poll(main).toMatch(/Settle as not reversed, order A-1: done\./);
    expect(at.orders.decisive("A-1").state.phase).toBe("charged");
  });

  test("no decision is asked for while a terminal can still carry a payment out", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = running;
    await loses(at);
    const { url } = await consoleHouse({ supervisor: nothingOpen }, at);
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    await page.goto(`${url}/#in-doubt`);
    const main = () => page.locator("main").innerText();
    await expect.poll(main).toMatch(/Wait until .*: the terminal may still carry this out/);
    expect(await main()).toMatch(
      /answered about this payment\s+The terminal still carries this payment out/,
    );
    expect(await page.locator("form").count()).toBe(0);
  });

  test("a lost answer of the gateway is shown, looked up, and settled by a person", async () => {
    const gateway = await chargedAtGateway({ lost: "before-commit" });
    const { at, sandbox } = gateway;
    const parts = { gateway: gateway.gateway, supervisor: gateway.supervisor };
    const { url } = await consoleHouse(parts, at);
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    await page.getByRole("link", { name: "In doubt", exact: true }).click();
    const main = () => page.locator("main").innerText();
    await expect.poll(main).toMatch(/Open at the gateway[\s\S]*order A-1[\s\S]*2 times/i);
    const target = { transactionPublicId: gateway.publicId() };
    for (const kind of ["before", "after"] as const) {
      sandbox.addFault({ kind: `reset-${kind}-commit`, times: 1, operation: "card" });
      await gateway.call("POST", "/gateway/refund", { ...target, amount: 4 });
      await page.reload();
      await expect.poll(main).toMatch(/Refund of .*4\.00/);
      if (kind === "before") await easyForAll(page, "doubt-gateway", "more of a view");
      if (kind === "after") {
        await page.getByRole("button", { name: "Ask the gateway" }).click();
      } else {
        await page.getByRole("button", { name: "It was not carried out" }).click();
        await agree(page);
      }
      await expect.poll(main).not.toMatch(/Refund of/);
    }
    await expect.poll(main).not.toMatch(/Ask the gateway/);
    expect(await main()).toMatch(/cancel or refund any further copy/);
    await page.getByRole("button", { name: "It is there once" }).click();
    await agree(page);
    await expect.poll(main).not.toMatch(/2 times/);
    const kept = at.journal.auditEntries.list(99, 9).map(({ call, http }) => [call, http]);
    expect(kept).toEqual([
      ["POST /gateway/copies", 200],
      ["POST /gateway/settle", 200],
    ]);
  });

  test("a page opened in the middle of a payment shows the prompt in its language", async () => {
    const at = house();
    const answered = Promise.withResolvers<void>();
    at.terminal.script = async (order, observer) => {
      const texts = {
        en: "insert the card",
        fr: "insérez la carte",
        de: "Karte einstecken",
        it: "inserire la carta",
        es: "inserte la tarjeta",
      };
      observer.prompt({ code: "0a", text: texts.fr, language: "fr", texts });
      await answered.promise;
      observer.prompt({ code: "0b", text: "enter the PIN", language: "", texts: null });
      return await approves(order, observer);
    };
    const { url } = await consoleHouse({}, at);
    const paying = pay(at, request("A-1"));
    await expect.poll(() => at.terminal.paid.length).toBe(1);
    const { page } = await consolePage(browser(), url);
    await expect.poll(() => page.locator(".prompt").innerText()).toBe("insert the card");
    const main = () => page.locator("main").innerText();
    expect(await main()).toMatch(/A payment: order A-1/);
    answered.resolve();
    await expect.poll(main).toMatch(/Nothing runs\./);
    await paying;
  });

  test("a page shows no prompt of an earlier attempt of the same order", async () => {
    const at = house();
    const answered = Promise.withResolvers<void>();
    at.terminal.script = async (_order, observer) => {
      await answered.promise;
      observer.prompt({ code: "0a", text: "card refused", language: "en", texts: null });
      observer.report(declined());
      return { end: "completed", ticket: "" };
    };
    const { url } = await consoleHouse({}, at);
    const first = pay(at, request("A-1"));
    const { page } = await consolePage(browser(), url);
    const main = () => page.locator("main").innerText();
    await expect.poll(main).toMatch(/A payment: order A-1/);
    answered.resolve();
    await first;
    await expect.poll(main).toMatch(/Nothing runs\./);
    at.terminal.script = () => new Promise(() => {});
    void pay(at, request("A-1"));
    await expect.poll(main).toMatch(/A payment: order A-1/);
    expect(await page.locator(".prompt").innerText()).toBe("");
  });
});
