import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { conditionTable } from "../../src/shared/catalog/conditions.ts";
import { finding, passedOn } from "../../src/shared/catalog/findings.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { type House, house, request } from "../support/house/payment-house.ts";
import { rowsOf } from "../support/run/scope.ts";
import { lost } from "../support/terminals/scripted-terminal.ts";
import { maintenanceForTest } from "../tp-manager/http/maintenance-for-test.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { consoleHouse, consolePage, easyForAll } from "./console-house.ts";
import { pictured } from "./pictures.ts";

/** Would run, if it ever became a part of the page. */
const hostile = (name: string): string => `<img src=x onerror="stolen='${name}'">`;

/** Leaves an order whose outcome nobody knows: the terminal reports nothing more. */
async function leaveInDoubt(at: House, orderId: string): Promise<void> {
  at.terminal.script = () => Promise.resolve(lost("line broken"));
  const paying = at.orders.pay(request(orderId));
  await expect.poll(() => at.arbiter.inquiries.blockedBy).toBe(orderId);
  at.terminal.last = { kind: "not-told", why: "no such function" };
  await at.clock.advance(300_000);
  at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
  await paying;
}

/** A doctor's report with a finding of its own, a condition and a not-ready reason. */
function doctorReport(): string {
  const { check, todo } = conditionTable["transactions-parked"];
  const parked = { check, code: "transactions-parked", says: "2 transactions parked", todo };
  const changed = { check: "terminal", code: "TERMINAL_CHANGED", says: "another terminal" };
  const faulty = finding("setup-faulty", { detail: hostile("setup"), file: "/data/config.txt" });
  const values = Object.assign({ command: "./launch.sh restart" }, faulty.values);
  const findings = [
    { ...faulty, values },
    finding("updates-held-open", { who: "Otto", since: "2026-01-15T12:00:00.000Z" }),
    passedOn(parked, "warn", { count: 2 }),
    passedOn({ ...changed, todo: "POST /terminal/accept" }, "fail"),
  ];
  return JSON.stringify({ version: "1", well: false, findings });
}

/** The launcher's answers to `backup` and `doctor`. */
function launcher([command]: readonly string[]) {
  const path = "/data/backup/backup-2026-01-15-120000";
  const copy = { path, madeAt: "2026-01-15T12:00:00.000Z", bytes: 1_200_000 };
  const [stdout, code] = command === "backup" ? [JSON.stringify(copy), 0] : [doctorReport(), 69];
  return Promise.resolve({ stdout, stderr: "", code });
}

/** Fills in and confirms the dialogue that asks for the operator's name and reason. */
async function agree(page: Page, name = "Anna", reason = "seen in the journal"): Promise<void> {
  await page.getByLabel("Your name").fill(name);
  await page.getByLabel("Reason").fill(reason);
  await page.locator("dialog button[type=submit]").click();
  await page.locator("dialog").waitFor({ state: "detached" });
}

describe.skipIf(!haveChromium)("the views of the console", () => {
  const browser = browserForSuite();

  test("an order in doubt shows its evidence, and an operator's decision settles it", async () => {
    const at = house();
    await leaveInDoubt(at, hostile("order"));
    const { url } = await consoleHouse({}, at);
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    await expect.poll(() => page.locator(".banner").innerText()).toMatch(/No payments now/);
    await easyForAll(page, "now-lost");
    expect(await page.locator("main").innerText()).toMatch(/Alarms[\s\S]*Reason\s+unplugged/);
    await page.locator(".banner a").click();
    const order = page.locator("section", { hasText: hostile("order") }).first();
    await expect.poll(() => page.locator("main").innerText()).toMatch(/What we sent/);
    expect(await page.locator("main").innerText()).toMatch(/docs\/unknown\.md .* has the steps/);
    expect(await order.innerText()).not.toMatch(/ask(s|ing) the terminal/);
    const text = await order.innerText();
    const said = /(The evidence does not decide|Likely)[\s\S]*before this order[\s\S]*0001/;
    expect(text).toMatch(new RegExp(`${said.source}[\\s\\S]*What happened[\\s\\S]*line broken`));
    await easyForAll(page, "doubt");
    await order.getByLabel("Charged", { exact: true }).check();
    await order.getByRole("button", { name: "Settle" }).click();
    await expect
      .poll(() => page.locator("dialog").innerText())
      .toMatch(/be stored as charged with .*9\.99[\s\S]*Settle as charged, EUR\s9\.99/);
    await easyForAll(page, "ask", "more of a view");
    await agree(page);
    await expect.poll(() => page.locator("main").innerText()).not.toMatch(/What did you find out/);
    expect(at.orders.decisive(hostile("order")).state.phase).toBe("charged");
    expect(at.journal.auditEntries.list(99, 9)).toMatchObject([
      { login: "operator", name: "Anna", reason: "seen in the journal", http: 200 },
    ]);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.evaluate("typeof stolen")).toBe("undefined");
  });

  test("no command is sent without name and reason, and Escape closes the dialogue", async () => {
    const { url, at } = await consoleHouse();
    const { page } = await consolePage(browser(), url);
    await page.getByRole("link", { name: "Maintenance" }).click();
    await page.getByRole("button", { name: "Restart the terminal" }).waitFor();
    // A key that is pressed as soon as the dialogue is drawn is the dialogue's.
    const isOpen = await page.evaluate(`(async () => {
      const button = [...document.querySelectorAll("button")]
        .find(({ innerText }) => innerText === "Restart the terminal");
      button.focus();
      button.click();
      for (let i = 0; i < 100 && !document.querySelector("dialog"); i++) await undefined;
      return document.querySelector("dialog").open;
    })()`);
    expect(isOpen).toBe(true);
    const send = page.locator("dialog button[type=submit]");
    await send.click();
    expect(await page.locator("dialog").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    const focused = await page.evaluate("document.activeElement.innerText");
    expect(focused).toBe("Restart the terminal");
    expect(at.journal.auditEntries.list(99, 9)).toEqual([]);
  });

  test("maintenance: each command asks and is listed; logs and settings are shown", async () => {
    const data = temporaryFolder(onTestFinished);
    mkdirSync(join(data, "logs"));
    const time = "2026-01-15T12:00:00.000Z";
    const line = (level: string, msg: string) =>
      `${JSON.stringify({ level, time, program: "tp-manager", msg })}\n`;
    const log = line("info", "quiet words") + line("error", hostile("log"));
    writeFileSync(join(data, "logs/tp-manager.log"), log);
    writeFileSync(join(data, "config.txt"), "LOG_DAYS=9\nTERMINAL_MANAGER_PWD=very-secret\n");
    const { url } = await consoleHouse({ maintenance: maintenanceForTest(data, { launcher }) });
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    await page.getByRole("link", { name: "Maintenance" }).click();
    const main = () => page.locator("main").innerText();
    await expect
      .poll(main)
      .toMatch(/Version that runs[\s\S]*failed: too slow[\s\S]*Examine everything/);
    // Its updates are held.
    expect(await main()).not.toMatch(/installed by itself/);
    await pictured(page, "console/maintenance");
    await page.getByRole("button", { name: "Check the terminal" }).click();
    await expect.poll(main).toMatch(/A payment would be taken/);
    expect(await main()).not.toMatch(/would be taken ready/);
    const commands = [
      ["End of day", /The end of day is done/],
      ["Restart the terminal", /has restarted/],
      ["Accept the terminal", /is accepted/],
      ["Check for an update", /not a checkout/],
      ["Hold updates", /not a checkout/],
      ["End the hold", /not a checkout/],
    ] as const;
    // Other suites run the end of day from its page, and accept a terminal from theirs.
    for (const [name, done] of rowsOf(commands, 2, 1)) {
      await page.getByRole("button", { name, exact: true }).click();
      await agree(page, "Anna", "a check");
      await expect.poll(main).toMatch(done);
    }
    await page.getByRole("button", { name: "Copy the databases", exact: true }).click();
    await page.getByRole("dialog").waitFor();
    expect(await page.getByRole("dialog").getByRole("textbox").count()).toBe(2); // no path
    await agree(page, "Anna", "a check");
    await expect
      .poll(main)
      .toMatch(/complete \(.*2026.*\d\): 2 MB\.\s+\/data\/backup\/backup-2026/);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expect.poll(main).toMatch(/Anna \(operator\): a check\s+Restart the terminal → done/);
    await page.getByRole("button", { name: "Show the logs" }).click();
    await expect.poll(main).toMatch(/quiet words/);
    await page.getByLabel("From level").selectOption("warn");
    await expect.poll(main).not.toMatch(/quiet words/);
    expect(await main()).toContain(hostile("log"));
    await page.getByRole("button", { name: "Show the configuration" }).click();
    await expect.poll(main).toMatch(/LOG_DAYS = 9/);
    expect(await main()).toMatch(/LOG_DAYS = 9 \(.*config\.txt, line 1\)/);
    expect(await main()).toMatch(/TERMINAL_MANAGER_PWD = set, hidden \(.*config\.txt, line 2\)/);
    expect(await main()).toMatch(/LOG_LEVEL = info \(default\)/);
    expect(await page.content()).not.toContain("very-secret");
    await page.getByRole("button", { name: "Examine everything" }).click();
    await expect.poll(main).toMatch(/wrong Setup file: A setting in \/data\/config.txt is missing/);
    expect(await main()).toContain(hostile("setup"));
    expect(await main()).toMatch(/then run \.\/launch\.sh restart/);
    expect(await main()).toMatch(/not sent to the gateway until an operator decides: 2/);
    await easyForAll(page, "care");
    await page.getByLabel("Language").selectOption("de");
    await expect.poll(main).toMatch(/Updates: Angehalten von Otto seit 15\.01\.26.*bis jemand/);
    expect(await main()).toMatch(/→ „Updates wieder zulassen“ oben beendet es/);
    expect(await main()).toMatch(/Terminal: Ein anderes Terminal ist angeschlossen/);
    expect(await main()).toMatch(/Tage, für die Logs aufbewahrt werden/);
    const section = page.locator("section", { hasText: "Diagnose" });
    expect(await section.innerText()).not.toMatch(/POST|GET/);
  });
});
