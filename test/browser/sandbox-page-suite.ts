import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { merchantForTest } from "../simulator/gateway/merchant-for-test.ts";
import { eventually, generate, sandboxForTest } from "../simulator/gateway/sandbox-for-test.ts";
import { browserForSuite, haveChromium, pageForSuite } from "./chromium.ts";
import { hardToUse, sizes } from "./readable.ts";

describe.skipIf(!haveChromium)("the sandbox's page for the operator", () => {
  const emptyPage = pageForSuite(browserForSuite());

  async function opened(url: string): Promise<Page> {
    const page = await emptyPage();
    await page.goto(url);
    return page;
  }

  test("the page says when there are no orders", async () => {
    const page = await opened((await sandboxForTest()).url);
    expect(await page.locator("main").innerText()).toMatch(/No order has come yet\./);
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
    expect(await page.getByRole("alert").innerText()).toMatch(/: more than /);
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
    for (const size of sizes) {
      await page.setViewportSize(size);
      expect([size, await hardToUse(page)]).toEqual([size, []]);
    }
  });
});
