import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { house } from "../support/payment-house.ts";
import { listening } from "../tp-manager/http/listening.ts";
import { authorization } from "../tp-manager/http/rig.ts";
import { browserForFile, haveChromium } from "./chromium.ts";
import { GuardedHouse } from "./guarded-house.ts";
import { hardToUse, sizes } from "./readable.ts";

const OPERATOR = { OPERATOR_LOGIN: "operator", OPERATOR_PWD: "test-operator-password" };
/** Would run, if it ever became a part of the page. */
const hostile = (name: string): string => `<img src=x onerror="stolen='${name}'">`;

const text = (page: Page, id: string): Promise<string> => page.locator(`#${id}`).innerText();

describe.skipIf(!haveChromium)("the connector's page for the operator", () => {
  let context: BrowserContext;
  const browser = browserForFile();
  beforeAll(async () => {
    if (haveChromium) context = await browser().newContext();
  });
  afterAll(() => context?.close());

  async function opened(url: string, login: string, password: string): Promise<Page> {
    const own = await browser().newContext();
    onTestFinished(() => own.close());
    const page = await own.newPage();
    page.on("dialog", () => expect.unreachable("a dialog"));
    const base = new URL(url);
    await page.goto(`${base.protocol}//${login}:${password}@${base.host}/`);
    return page;
  }

  describe("with running programs", () => {
    const at = new GuardedHouse({
      terminalSwitches: ["--customer", "manual", "--host-delay-ms", "0"],
      config: { ...OPERATOR },
    });
    let page: Page;
    beforeAll(async () => {
      if (!haveChromium) return;
      await at.start();
      await at.connected();
      page = await context.newPage();
      await page.goto(`http://kiosk:${at.password}@${new URL(at.url).host}/`);
    });
    afterAll(() => at.stop());

    const shows = (id: string, words: RegExp) => expect.poll(() => text(page, id)).toMatch(words);
    const places = () =>
      page.evaluate("[...document.querySelectorAll('h2')].map((title) => title.offsetTop)");

    test("an idle one says so, and is easy to use on a desk, a kiosk and a phone", async () => {
      await shows("status", /Ready for payments/);
      expect(await text(page, "facts")).toMatch(/ready, link connected/);
      expect(await text(page, "none")).toBe("None has been asked for yet.");
      expect(await text(page, "alarms")).toBe("None.");
      await shows("stream", /^Connected/);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const size of sizes) {
          await page.setViewportSize(size);
          expect([colorScheme, size, await hardToUse(page)]).toEqual([colorScheme, size, []]);
        }
      }
      await page.setViewportSize(sizes[0]);
    });

    test("a payment is followed live, and nothing else on the page moves", async () => {
      const before = await places();
      const paying = at.pay(9, "A-1");
      await shows("status", /A payment is running/);
      await shows("running", /order A-1/);
      await shows("prompt", /card/i);
      expect(await places()).toEqual(before);
      await shows("payments", /A-1\s+9\.00 EUR\s+Running/);
      await at.presentCard();
      expect((await paying).one.status).toBe("Success");
      await shows("payments", /A-1\s+9\.00 EUR\s+Success\s+sent/);
      await shows("status", /Ready for payments/);
      expect(await text(page, "prompt")).toBe("");
      expect(await places()).toEqual(before);
      expect(await hardToUse(page)).toEqual([]);
    });

    test("what waits for the gateway is counted for all, and named to the operator", async () => {
      await at.sandbox?.end("SIGKILL");
      const paying = at.pay(8, "A-2");
      await shows("prompt", /card/i);
      await at.presentCard();
      await paying;
      await shows("facts", /Waiting for the gateway\s+1/);
      await shows("waiting", /Sign in with the operator's pair/);
      const { OPERATOR_LOGIN, OPERATOR_PWD } = OPERATOR;
      const operators = await opened(at.url, OPERATOR_LOGIN, OPERATOR_PWD);
      const named = () => text(operators, "waiting");
      await expect.poll(named).toMatch(/Order A-2, 8\.00 EUR: pending after \d+ tries/);
      expect(await hardToUse(operators)).toEqual([]);
    });

    test("a connector that is away is told, and found again when it is back", async () => {
      await at.tpManager?.end("SIGKILL");
      await shows("status", /The connector does not answer/);
      expect(await text(page, "reasons")).toMatch(/was true before/);
      await shows("stream", /trying again/);
      expect(await hardToUse(page)).toEqual([]);
      await at.startTpManager();
      await shows("status", /Ready for payments/);
      await shows("stream", /^Connected/);
    });

    test("a lost terminal and the order that is in doubt are told", async () => {
      const paying = at.pay(7, "A-3");
      await shows("prompt", /card/i);
      await at.terminal?.end("SIGKILL");
      await shows("status", /No payments now/);
      await shows("reasons", /no link to the terminal/);
      await shows("doubtful", /order A-3, 7\.00 EUR/);
      expect(await hardToUse(page)).toEqual([]);
      expect((await paying).one.status).toBe("Unknown");
    });
  });

  test("texts of orders, terminals and alarms never become a part of the page", async () => {
    const at = house();
    const api = await listening({}, at);
    const page = await opened(`http://127.0.0.1:${api.port}`, "kiosk", "secret");
    // A prompt is told to those who listen at that moment only.
    await expect.poll(() => text(page, "stream")).toMatch(/^Connected/);
    const gate = Promise.withResolvers<void>();
    at.terminal.script = async (_order, observer) => {
      observer.prompt({ code: "0a", text: hostile("prompt"), language: "" });
      await gate.promise;
      const told = { code: "05", text: hostile("end"), reason: "declined", ticket: "" } as const;
      return { end: "aborted", ...told };
    };
    const order = { amount: 1, orderId: hostile("order"), customData: { a: hostile("data") } };
    const paying = api.get("/payment", {
      method: "POST",
      body: JSON.stringify(order),
      headers: { authorization, "content-type": "application/json" },
    });
    await expect.poll(() => text(page, "prompt")).toBe(hostile("prompt"));
    await expect.poll(() => text(page, "running")).toContain(hostile("order"));
    gate.resolve();
    await paying;
    await expect.poll(() => text(page, "payments")).toContain(hostile("end"));
    at.terminal.become({ link: "disconnected", linkProblem: hostile("problem") });
    at.hub.tap(at.log).error({ alarm: hostile("alarm"), orderId: hostile("at") }, hostile("words"));
    await expect.poll(() => text(page, "alarms")).toContain(hostile("words"));
    await expect.poll(() => text(page, "reasons")).toContain(hostile("problem"));
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.evaluate("typeof stolen")).toBe("undefined");
  });

  test("a stream that is refused is asked for again", async () => {
    const api = await listening();
    const stop = new AbortController();
    const others = Array.from({ length: 16 }, () => api.get("/events", { signal: stop.signal }));
    for (const other of others) expect((await other).status).toBe(200);
    const page = await opened(`http://127.0.0.1:${api.port}`, "kiosk", "secret");
    await expect.poll(() => text(page, "stream")).toMatch(/trying again/);
    stop.abort();
    await expect.poll(() => text(page, "stream")).toMatch(/^Connected/);
  });

  test("the check for hard use finds what is hard", async () => {
    const page = await context.newPage();
    await page.setContent(`<p style="color: #999; width: 3000px">pale</p><button></button>
      <h2 style="opacity: 0.3">faint</h2><button style="height: 9px; padding: 0">b</button>`);
    const found = (await hardToUse(page)).map((fault) => fault.replace(/[ :].*/s, ""));
    const expected = ["contrast", "contrast", "no", "small", "small", "wider", "no", "no", "not"];
    expect(found).toEqual(expect.arrayContaining(expected));
  });
});
