import { describe, expect, test } from "vitest";
import { rowsOf } from "../support/run/scope.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { consoleHouse, consolePage, easyForAll, untranslated } from "./console-house.ts";

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
      ["de", "Abmelden"],
    ] as const;
    for (const [language, text] of rowsOf(languages, 2, 1)) {
      await page.locator("select").selectOption(language);
      await page.getByRole("button", { name: text }).waitFor();
      await expect.poll(() => page.evaluate("document.documentElement.lang")).toBe(language);
      await page.setViewportSize({ width: 360, height: 900 });
      for (const view of ["in-doubt", "payments", "day", "maintenance", "now"]) {
        const link = page.locator(`nav a[href="#${view}"]`);
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
    await page.getByRole("button", { name: "Abmelden" }).click();
    await page.locator("input[type=password]").waitFor();
    await easyForAll(page, "log-in");
    // This house has no supervisor: lists of the gateway answer 503, which is no fault of a page.
    expect(faults.filter((fault) => !fault.includes("status of 503"))).toEqual([]);
  });
});
