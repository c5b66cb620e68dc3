import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { merchantForTest } from "../simulator/gateway/merchant-for-test.ts";
import { eventually, generate, sandboxForTest } from "../simulator/gateway/sandbox-for-test.ts";
import { rowsOf } from "../support/run/scope.ts";
import { axeFaults } from "./axe-faults.ts";
import { browserForSuite, haveChromium, pageForSuite } from "./chromium.ts";
import { pictured } from "./pictures.ts";
import { hardToUse, hiddenParts, sizes, smallSizes } from "./readable.ts";

describe.skipIf(!haveChromium)("the sandbox's page for the operator", () => {
  const browser = browserForSuite();
  const emptyPage = pageForSuite(browser);

  async function opened(url: string): Promise<Page> {
    const page = await emptyPage();
    await page.goto(url);
    return page;
  }

  test("the page says when there are no orders", async () => {
    const page = await opened((await sandboxForTest()).url);
    expect(await page.locator("main").innerText()).toMatch(/No order has come yet\./);
    await pictured(page, "sandbox/empty");
    expect(await hardToUse(page)).toEqual([]);
  });

  test("every button acts as labelled, and a refused action says why", async () => {
    const merchant = await merchantForTest();
    const sandbox = await sandboxForTest();
    const order = { manualCapture: "1", urlCallback: merchant.url, merchantReference: "A-1" };
    await generate(sandbox, order);
    const page = await opened(sandbox.url);
    const row = page.locator("tbody tr", { hasText: "A-1" }).first();
    const press = async (name: string, amount?: string) => {
      if (amount !== undefined) await row.getByLabel(`amount to ${name}`).fill(amount);
      await row.getByRole("button", { name }).click();
      return await row.locator(".state").innerText();
    };
    expect(await press("pay A-1")).toBe("authorized");
    expect(await press("capture A-1", "10")).toBe("captured");
    expect(await press("refund A-1", "2.50")).toBe("captured");
    expect(await press("refund A-1", "99")).toBe("captured");
    expect(await page.getByRole("alert").innerText()).toMatch(/^refund refused: .*: more than /);
    await pictured(page, "sandbox/refused-action", /status of 409/);
    expect(await hardToUse(page)).toEqual([]);
    expect(await press("refund A-1", "much")).toBe("captured");
    expect(await page.getByRole("alert").innerText()).toMatch(/amount must be a positive number/);
    expect(await press("fraud A-1")).toBe("captured");
    expect(await press("chargeback A-1")).toBe("reversed");
    await eventually(() => merchant.received.length).toBe(4);
    await page.goto(sandbox.url);
    const all = await page.locator("main").innerText();
    expect(all).toMatch(/refund ok 2\.50[\s\S]*reject ok 7\.50/);
    expect(all).toMatch(/reject ok: delivered \(1\)/);
  });

  test("orders are paid, declined, aborted and cancelled; hostile texts stay text", async () => {
    const sandbox = await sandboxForTest();
    for (const merchantReference of ["B-1", "B-2", "B-3"]) {
      await generate(sandbox, { merchantReference, manualCapture: "1" });
    }
    await generate(sandbox, { merchantReference: "&lt;img src=x onerror=stolen=1&gt;" });
    const page = await opened(sandbox.url);
    for (const name of ["decline B-1", "abort B-2", "pay B-3", "cancel B-3"]) {
      await page.getByRole("button", { name }).click();
    }
    const states = sandbox.orders().map(({ state }) => state);
    expect(states).toEqual(["created", "cancelled", "aborted", "declined"]);
    expect(await page.locator("#orders").innerText()).toContain("<img src=x");
    expect(await page.locator("img").count()).toBe(0);
    await pictured(page, "sandbox/orders");
    for (const size of [...sizes, ...smallSizes]) {
      await page.setViewportSize(size);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect([size, colorScheme, await hardToUse(page)]).toEqual([size, colorScheme, []]);
      }
    }
    // At the width of a phone, where each row is a block of lines.
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, await axeFaults(page)]).toEqual([colorScheme, []]);
    }
  });

  test("the page has the language of the browser, and its buttons act in each one", async () => {
    const texts = {
      de: ["bezahlen", "autorisiert", "stornieren", "storniert"],
      fr: ["payer", "autorisée", "annuler", "annulée"],
      it: ["pagare", "autorizzato", "annullare", "annullato"],
      es: ["pagar", "autorizado", "anular", "anulado"],
    };
    for (const [language, [pay = "", paid, cancel = "", cancelled]] of rowsOf(
      Object.entries(texts),
      4,
    )) {
      const sandbox = await sandboxForTest();
      await generate(sandbox, { merchantReference: "C-1", manualCapture: "1" });
      const page = await (await browser().newContext({ locale: language })).newPage();
      onTestFinished(() => page.close());
      await page.goto(sandbox.url);
      await page.getByRole("button", { name: `${pay} C-1` }).click();
      expect(await page.locator(".state").innerText()).toBe(paid);
      await page.getByRole("button", { name: `${cancel} C-1` }).click();
      expect(await page.locator(".state").innerText()).toBe(cancelled);
      expect(await page.evaluate("document.documentElement.lang")).toBe(language);
      expect([language, await hardToUse(page)]).toEqual([language, []]);
    }
  });

  test("the keyboard reaches each button, visibly; no width hides a column", async () => {
    const sandbox = await sandboxForTest();
    await generate(sandbox, { merchantReference: "D-1" });
    const page = await opened(sandbox.url);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await hiddenParts(page, "td.number, td.state, td button")).toEqual([]);
    const reached: unknown[] = [];
    for (let steps = 0; steps < 12; steps += 1) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate("getComputedStyle(document.activeElement).outline")).toMatch(
        /solid 3px/,
      );
      reached.push(await page.evaluate("document.activeElement.ariaLabel"));
    }
    expect(reached.filter((name) => name !== null)).toEqual([
      "Orders",
      "pay D-1",
      "decline D-1",
      "abort D-1",
      "set to waiting D-1",
    ]);
    for (const width of [660, 1152, 1153]) {
      await page.setViewportSize({ width, height: 844 });
      expect([width, await page.evaluate(tooWide)]).toEqual([width, 0]);
    }
  });
});

/** How many tables can be scrolled to the side. */
const tooWide = `[...document.querySelectorAll(".scroll")]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length`;
