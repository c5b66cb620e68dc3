import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { house } from "../support/house/payment-house.ts";
import { rowsOf } from "../support/run/scope.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import {
  consoleHouse,
  consolePage,
  easyForAll,
  logIn,
  openMenu,
  untranslated,
} from "./console-house.ts";
import { everyState } from "./pictures.ts";

describe.skipIf(!haveChromium)("the operator's console", () => {
  const browser = browserForSuite();

  test("the log-in page and the first view are easy to use, in every language", async () => {
    const at = await consoleHouse();
    const { page, faults } = await consolePage(browser(), at.url, { bypassCSP: true });
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expect.poll(() => page.locator(".banner").innerText()).toMatch(/Ready|payments/);
    await easyForAll(page, "now", "more of a view");
    // The payments and the day are looked at in French too.
    const languages = [
      ["fr", "Déconnexion"],
      ["it", "Esci"],
      ["es", "Cerrar sesión"],
      ["de", "Abmelden"],
    ] as const;
    for (const [language, text] of rowsOf(languages, 4, 3)) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.locator("select").selectOption(language);
      await page.getByRole("button", { name: text }).waitFor();
      await expect.poll(() => page.evaluate("document.documentElement.lang")).toBe(language);
      await page.setViewportSize({ width: 360, height: 900 });
      for (const view of ["in-doubt", "payments", "day", "maintenance", "now"]) {
        const link = page.locator(`nav a[href="#${view}"]`);
        await openMenu(page);
        await link.click();
        await page.locator("main h1, main h2").first().waitFor();
        await expect.poll(() => link.getAttribute("aria-current")).toBe("page");
        const width = await page.evaluate("document.documentElement.scrollWidth");
        expect([language, view, width, await untranslated(page)]).toEqual([
          language,
          view,
          360,
          [],
        ]);
      }
    }
    await openMenu(page);
    await page.getByRole("button", { name: "Abmelden" }).click();
    await page.locator("input[type=password]").waitFor();
    await easyForAll(page, "log-in");
    // This house has no supervisor: lists of the gateway answer 503, which is no fault of a page.
    expect(faults.filter((fault) => !fault.includes("status of 503"))).toEqual([]);
  });

  test("a terminal that is ready says so in the page's language alone", async () => {
    const at = house();
    const ready = { cr: "0", card: "0", call: "0", periph: "0", detail: "00 ready" } as const;
    at.terminal.become({ status: ready });
    const { url } = await consoleHouse({}, at);
    const { page } = await consolePage(browser(), url);
    const main = () => page.locator("main").innerText();
    await page.locator("header select").selectOption("de");
    await expect.poll(main).toMatch(/Terminal\s+bereit\s+Verbindung\s+verbunden/);
    await page.getByRole("link", { name: "Wartung" }).click();
    await page.getByRole("button", { name: "Terminal prüfen" }).click();
    await expect.poll(main).toMatch(/Es wird bezahlt/);
    expect(await main()).not.toMatch(/ready/);
  });

  test("a terminal that is away is no error in the browser's log", async () => {
    const at = house();
    at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    const { url } = await consoleHouse({}, at);
    const { page, faults } = await consolePage(browser(), url);
    const main = () => page.locator("main").innerText();
    await expect.poll(main).toMatch(/No payments now/);
    await page.getByRole("link", { name: "Maintenance" }).click();
    await expect.poll(main).toMatch(/Version that runs/);
    expect(faults).toEqual([]);
  });

  test("the header is one row at each width, and its menu works by keyboard alone", async () => {
    const { url } = await consoleHouse();
    const { page } = await consolePage(browser(), url, { bypassCSP: true });
    const menu = page.locator("button.menu");
    for (const language of everyState ? ["it", "es", "de", "fr", "en"] : ["fr", "en"]) {
      await page.setViewportSize({ width: 390, height: 844 });
      await openMenu(page);
      await page.locator("header select").selectOption(language);
      await expect.poll(() => page.evaluate("document.documentElement.lang")).toBe(language);
      await menu.click();
      for (const width of [1280, 1201, 1200, 800, 390]) {
        await page.setViewportSize({ width, height: 844 });
        expect([language, width, await headerOf(page)]).toEqual([
          language,
          width,
          { isOneRow: true, isWide: false },
        ]);
      }
    }
    await menu.focus();
    await page.keyboard.press("Enter");
    await easyForAll(page, "menu", "a further state");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await menu.getAttribute("aria-expanded")).toBe("true");
    // The wide windows in between have no such button, and so took its focus.
    await menu.focus();
    const focused = () => page.evaluate("document.activeElement.className");
    await page.keyboard.press("Escape");
    expect([await page.locator("nav").isVisible(), await focused()]).toEqual([false, "menu"]);
    await page.keyboard.press("Enter");
    for (const key of ["Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await expect.poll(() => page.evaluate("location.hash")).toBe("#in-doubt");
    expect([await page.locator("nav").isVisible(), await focused()]).toEqual([false, "menu"]);
    await expect.poll(() => menu.innerText()).toMatch(/In doubt/);
  });

  test("a stopped connector's last state is grey, and the page comes back by itself", async () => {
    const first = await consoleHouse();
    const { page, context } = await consolePage(browser(), first.url, { bypassCSP: true });
    const banner = () => page.locator(".banner").innerText();
    const main = () => page.locator("main").innerText();
    await expect.poll(banner).toMatch(/Ready for payments/);
    expect(await page.locator(".old").count()).toBe(0);
    await page.locator("header select").focus();
    await first.close();
    await expect.poll(banner).toMatch(/The connector does not answer/);
    const said = /state of [\s\S]*\d\d:\d\d[\s\S]*\.\/launch\.sh start[\s\S]*launch\.cmd/;
    // A screen reader is given this too, and calls what is left old.
    expect(await page.locator(".banner [role=status]").innerText()).toMatch(said);
    const old = page.getByRole("group", { name: /state of .*\d\d:\d\d/ });
    expect(await old.innerText()).toMatch(/Nothing runs[\s\S]*Terminal/);
    const filter = "getComputedStyle(document.querySelector('.old')).filter";
    expect(await page.evaluate(filter)).toBe("grayscale(1)");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("SELECT");
    await easyForAll(page, "now-silent");
    // A view that was not loaded before says the same, instead of nothing.
    await page.getByRole("link", { name: "Day" }).click();
    await expect.poll(main).toMatch(/does not answer[\s\S]*launch\.sh start/);
    await page.getByRole("link", { name: "Now" }).click();
    await expect.poll(main).toMatch(/does not answer[\s\S]*launch\.sh start/);
    await consoleHouse({ port: first.port });
    await page.getByLabel("Password").waitFor();
    expect(await main()).toMatch(/The session is over/);
    await logIn(page);
    await page.getByRole("link", { name: "Day" }).click();
    await expect.poll(main).toMatch(/Totals/);
    await context.close();
  });
});

/** Whether the header is one row of buttons, and nothing is wider than the window. */
async function headerOf(page: Page): Promise<unknown> {
  const isOneRow = await page.evaluate("document.querySelector('header').offsetHeight < 64");
  const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
  return { isOneRow, isWide };
}
