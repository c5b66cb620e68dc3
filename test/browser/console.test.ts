import { describe, expect, test } from "vitest";
import { browserForFile, haveChromium } from "./chromium.ts";
import { consoleHouse, consolePage, easyForAll } from "./console-house.ts";

describe.skipIf(!haveChromium)("the operator's console", () => {
  const browser = browserForFile();

  test("the log-in page and the first view are easy to use, in every language", async () => {
    const at = await consoleHouse();
    const { page, faults } = await consolePage(browser(), at.url, { bypassCSP: true });
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expect.poll(() => page.locator(".banner").innerText()).toMatch(/Ready|payments/);
    await easyForAll(page, "now");
    for (const [language, words] of [
      ["fr", "Se déconnecter"],
      ["de", "Abmelden"],
    ] as const) {
      await page.locator("select").selectOption(language);
      await page.getByRole("button", { name: words }).waitFor();
      await expect.poll(() => page.evaluate("document.documentElement.lang")).toBe(language);
      await page.setViewportSize({ width: 360, height: 900 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    }
    await page.getByRole("button", { name: "Abmelden" }).click();
    await page.locator("input[type=password]").waitFor();
    await easyForAll(page, "log-in");
    expect(faults).toEqual([]);
  });
});
