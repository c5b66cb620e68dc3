import type { Request } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { FailureDelay } from "../../src/tp-manager/http/door/failure-delay.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { isWhole } from "../support/run/scope.ts";
import { besieged } from "./besieged.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { consoleHouse, consolePage } from "./console-house.ts";
import { floodWithCookies } from "./cookie-flood.ts";

describe.skipIf(!haveChromium)("the console against other pages", () => {
  const browser = browserForSuite();

  test("another origin and another local port reach nothing, and are sent nothing", async () => {
    const { at, url } = await consoleHouse();
    const { page, context } = await consolePage(browser(), url);
    const token = await page.evaluate(`sessionStorage.getItem("console-token")`);
    expect(token).toMatch(/^[\w-]{43}$/);
    const { read, sent } = await besieged(context, url, "api.js", (copy) =>
      copy.locator("input[type=password]").waitFor(),
    );
    expect(read).toEqual([]);
    expect(at.journal.auditEntries.list(99, 9)).toEqual([]);
    expect(await context.cookies()).toEqual([]);
    expect(sent.filter(({ cookie, authorization }) => cookie ?? authorization)).toEqual([]);
    expect(JSON.stringify(sent)).not.toContain(token);
    // The session itself goes on.
    await page.getByRole("link", { name: "Maintenance" }).click();
    await page.getByRole("button", { name: "Check the terminal" }).click();
    await expect.poll(() => page.locator("main").innerText()).toMatch(/A payment would be taken/);
  });

  // What keeps the server from refusing them is tried without a browser (page-headers.test.ts).
  test.skipIf(!isWhole).each(["localhost", "127.0.0.1"])(
    "as many cookies as another port of %s can set keep nobody out",
    async (host) => {
      const house = await consoleHouse();
      const url = house.url.replace("127.0.0.1", host);
      const { page, context } = await consolePage(browser(), url);
      // Opened before: Chromium reports all cookies of each request, also where it sends none.
      await page.getByRole("link", { name: "Maintenance" }).click();
      const check = page.getByRole("button", { name: "Check the terminal" });
      await check.waitFor();
      const { cookieBytes, read } = await floodWithCookies(context, host, `${url}/session`);
      expect(cookieBytes).toBeGreaterThan(600 * 1024);
      expect(read).toBe("");
      const asked: Request[] = [];
      page.on("request", (request) => asked.push(request));
      await check.click();
      const healthy = () => page.locator("main").innerText();
      await expect.poll(healthy).toMatch(/A payment would be taken/);
      const calls = asked.filter((request) => request.url().includes("/api/"));
      expect(calls.length).toBeGreaterThan(0);
      const sent = await Promise.all(calls.map((call) => call.allHeaders()));
      expect(sent.filter(({ authorization }) => authorization)).toEqual(sent);
      expect(sent.filter(({ cookie }) => cookie)).toEqual([]);
      const answer = await page.reload();
      expect(answer?.status()).toBe(200);
      expect((await answer?.request().allHeaders())?.["cookie"]?.length).toBe(cookieBytes);
      await check.click();
      await expect.poll(healthy).toMatch(/A payment would be taken/);
    },
  );

  test("the page's own policy lets nothing in that is not its file", async () => {
    const { url } = await consoleHouse();
    const { page } = await consolePage(browser(), url);
    expect(
      await page.evaluate(`(async () => {
        const div = document.body.appendChild(document.createElement("div"));
        const failed = [];
        for (const work of [
          () => { div.innerHTML = "<b>x</b>"; },
          () => { document.createElement("script").src = "data:text/javascript,1"; },
          () => fetch("http://127.0.0.1:1/"),
        ]) {
          try { await work(); failed.push("let in"); } catch { failed.push("refused"); }
        }
        return failed;
      })()`),
    ).toEqual(["refused", "refused", "refused"]);
  });

  test("a wrong password waits; an idle session ends by itself, on the page too", async () => {
    const clock = new TestClock();
    const { url } = await consoleHouse({ clock, failures: new FailureDelay(clock) });
    const { page } = await consolePage(browser(), url);
    await expect.poll(() => clock.running).toContain("event heartbeat");
    // The page's own polling keeps nothing alive.
    await clock.advance(15 * 60_000);
    await expect.poll(() => page.locator("main").innerText()).toMatch(/The session is over/);
    expect(await page.evaluate("sessionStorage.getItem('console-token')")).toBe(null);
    await page.getByLabel("Login").fill("operator");
    await page.getByLabel("Password").fill("wrong");
    await page.keyboard.press("Enter");
    await expect.poll(() => clock.running).toContain("failed authentication");
    expect(await page.locator("[role=alert]").count()).toBe(0);
    await clock.advance(100);
    await expect.poll(() => page.locator("[role=alert]").innerText()).toMatch(/is wrong/);
  });

  test("everything can be done with the keyboard alone, and the focus is seen", async () => {
    const { at, url } = await consoleHouse();
    const context = await browser().newContext({ locale: "en-GB" });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    await page.locator("input[autocomplete=username]:focus").waitFor();
    await page.keyboard.type("operator");
    await page.keyboard.press("Tab");
    await page.keyboard.type("test-operator-password");
    await page.keyboard.press("Enter");
    await page.locator("nav").waitFor();
    const tabTo = async (text: string): Promise<void> => {
      for (let at = 0; at < 40; at += 1) {
        await page.keyboard.press("Tab");
        if ((await page.evaluate("document.activeElement.innerText")) === text) {
          const outline = "getComputedStyle(document.activeElement).outlineWidth";
          expect(await page.evaluate(outline)).toBe("3px");
          return;
        }
      }
      throw new Error(`the focus does not come to ${text}`);
    };
    await tabTo("Maintenance");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Restart the terminal" }).waitFor();
    await tabTo("Restart the terminal");
    await page.keyboard.press("Space");
    await page.locator("dialog").waitFor();
    await page.keyboard.type("Anna");
    await page.keyboard.press("Tab");
    await page.keyboard.type("hangs");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("main").innerText()).toMatch(/has restarted/);
    const kept = at.journal.auditEntries.list(99, 9);
    expect(kept).toMatchObject([{ name: "Anna", reason: "hangs", call: "POST /reset" }]);
  });
});
