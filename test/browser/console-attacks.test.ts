import type { IncomingHttpHeaders } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { FailureDelay } from "../../src/tp-manager/http/failure-delay.ts";
import { TestClock } from "../support/test-clock.ts";
import { browserForFile, haveChromium } from "./chromium.ts";
import { consoleHouse, consolePage } from "./console-house.ts";
import { webServer } from "./web-server.ts";

/** All that a page can try against another origin; tells what it could read. */
const attack = (base: string): string => `(async () => {
  const read = [];
  const tried = async (name, work) => {
    try {
      const found = await work();
      if (found) read.push([name, found]);
    } catch {}
  };
  const limit = { signal: AbortSignal.timeout(3000) };
  const headers = { authorization: "Bearer guessed", "act-name": "x", "act-reason": "x" };
  const tries = [];
  for (const path of ["/api/health", "/session", "/api/reset", "/"]) {
    for (const method of ["GET", "POST", "DELETE"]) {
      for (const mode of ["cors", "no-cors"]) {
        tries.push(tried(method + path + mode, () =>
          fetch("${base}" + path, { method, mode, credentials: "include", ...limit })
            .then((answer) => answer.text())));
      }
    }
    tries.push(tried("own " + path, () => fetch("${base}" + path, { headers, ...limit })
      .then((answer) => answer.text())));
  }
  await Promise.all(tries);
  const event = (target, good, bad) => new Promise((resolve) => {
    target["on" + good] = (told) => resolve(String(told.data ?? good));
    target["on" + bad] = () => resolve("");
    setTimeout(resolve, 500, "");
  });
  await tried("events", () => event(new EventSource("${base}/api/events",
    { withCredentials: true }), "message", "error"));
  await tried("socket", () =>
    event(new WebSocket("${base}/api/events".replace("http", "ws")), "open", "error"));
  for (const path of ["/api/reset", "/api/tlc", "/session"]) {
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.name = "target" + path;
    const form = document.body.appendChild(document.createElement("form"));
    Object.assign(form, { method: "post", action: "${base}" + path, target: frame.name });
    form.submit();
    await event(frame, "load", "error");
  }
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.src = "${base}/";
  await event(frame, "load", "error");
  await tried("frame", () => frame.contentDocument?.body?.innerText);
  await tried("script", () => import("${base}/api.js").then(() => "loaded"));
  return read;
})()`;

describe.skipIf(!haveChromium)("the console against other pages", () => {
  const browser = browserForFile(() => ["--host-resolver-rules=MAP evil.test 127.0.0.1"]);

  test("another origin and another local port reach nothing, and are sent nothing", async () => {
    const { at, url } = await consoleHouse();
    const { page, context } = await consolePage(browser(), url);
    const sent: IncomingHttpHeaders[] = [];
    const attacker = await webServer((request, response) => {
      sent.push(request.headers);
      request.resume();
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>x");
    });
    onTestFinished(() => attacker.close());
    const token = await page.evaluate(`sessionStorage.getItem("console-token")`);
    expect(token).toMatch(/^[\w-]{43}$/);
    for (const host of ["127.0.0.1", "localhost", "evil.test"]) {
      const other = await context.newPage();
      await other.goto(`http://${host}:${attacker.port}/`);
      const base = host === "localhost" ? url.replace("127.0.0.1", host) : url;
      expect([host, await other.evaluate(attack(base))]).toEqual([host, []]);
      // A window that the attacker opens has the session's origin, but none of its storage.
      const opened = context.waitForEvent("page");
      await other.evaluate(`void open(${JSON.stringify(url)})`);
      const copy = await opened;
      await copy.locator("input[type=password]").waitFor();
      await copy.close();
      await other.close();
    }
    expect(at.journal.acts.list(99, 9)).toEqual([]);
    expect(await context.cookies()).toEqual([]);
    expect(sent.length).toBeGreaterThan(2);
    expect(sent.filter(({ cookie, authorization }) => cookie ?? authorization)).toEqual([]);
    expect(JSON.stringify(sent)).not.toContain(token);
    // The session itself goes on.
    await page.getByRole("link", { name: "Care" }).click();
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await expect.poll(() => page.locator("main").innerText()).toMatch(/A payment would be taken/);
  });

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
    await page.locator("input[autocomplete=username]").waitFor();
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
    await tabTo("Care");
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
    const kept = at.journal.acts.list(99, 9);
    expect(kept).toMatchObject([{ name: "Anna", reason: "hangs", call: "POST /reset" }]);
  });
});
