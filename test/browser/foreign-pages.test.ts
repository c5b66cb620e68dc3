import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { until } from "../support/child-program.ts";
import { browserForFile, haveChromium } from "./chromium.ts";
import { GuardedHouse } from "./guarded-house.ts";
import { pages, passwordOnly, type Seen, type WebServer, webServer } from "./web-server.ts";

const evil = pages({
  "/": "<!doctype html><title>evil</title><body><script src=/foreign-page.js></script>",
  "/foreign-page.js": readFileSync(join(import.meta.dirname, "foreign-page.js"), "utf8"),
});
/** After which nothing more is expected of a page. */
const QUIET_MS = 300;
const acting = ["/cancel", "/stop", "/reset", "/tlc"];

describe.skipIf(!haveChromium)("pages of other origins, in a browser that is signed in", () => {
  const house = new GuardedHouse({
    terminalSwitches: ["--customer", "manual", "--host-delay-ms", "0"],
    config: { POLL_INTERVAL_MS: 60_000 },
  });
  /** What reached a server that only checks the password. */
  const seen: Seen[] = [];
  let decoy: WebServer;
  let plain: WebServer;
  let secure: WebServer;
  let context: BrowserContext;
  let api: number;

  beforeAll(async () => {
    plain = await webServer(evil);
    secure = await webServer(evil, ["evil.test"]);
    decoy = await webServer(passwordOnly(`kiosk:${house.password}`, seen));
    await house.start();
    await house.connected();
    api = Number(new URL(house.url).port);
  });
  const browser = browserForFile(() => [
    "--host-resolver-rules=MAP *.test 127.0.0.1",
    // What comes from this server counts as a page of the Internet.
    `--ip-address-space-overrides=127.0.0.1:${secure.port}=public`,
  ]);
  beforeAll(async () => {
    if (!haveChromium) return;
    context = await browser().newContext({ ignoreHTTPSErrors: true });
    await house.signIn(context, [api, decoy.port]);
  });
  afterAll(async () => {
    await context?.close();
    for (const server of [decoy, plain, secure]) server?.close();
    await house.stop();
  });

  /** Runs `act`, after which the terminal and the journal must be as they were. */
  async function harmless<T>(act: () => Promise<T>): Promise<T> {
    const before = { wire: await house.wire(), journal: house.journal() };
    const given = await act();
    expect(await house.wire()).toEqual(before.wire);
    expect(house.journal()).toEqual(before.journal);
    expect(house.tpManager?.running).toBe(true);
    return given;
  }

  /** Waits until nothing more has come for a while; how often the API has refused. */
  async function settled(): Promise<number> {
    let arrived = "";
    for (;;) {
      const refused = await house.answered(403);
      if (arrived === `${refused} ${seen.length}`) return refused;
      arrived = `${refused} ${seen.length}`;
      await sleep(systemClock, "more requests", QUIET_MS);
    }
  }

  /** Every attempt of a page, against the API and the decoy; how often the API refused. */
  async function attack(page: Page, urls: readonly string[]): Promise<number> {
    const refused = await settled();
    seen.length = 0;
    return await harmless(async () => {
      await Promise.all(urls.map((url) => page.evaluate(`attack("${url}")`)));
      return (await settled()) - refused;
    });
  }

  async function attackFrom(origin: string, host: string): Promise<number> {
    const page = await context.newPage();
    await page.goto(origin);
    const refused = await attack(
      page,
      [decoy.port, api].map((port) => `http://${host}:${port}`),
    );
    await page.close();
    return refused;
  }

  const speculated = { method: "GET", mark: "by=speculation", authorized: true, site: "none" };

  /** Attempts that reached the decoy with the remembered pair. */
  const signed = (): string[] => [
    ...new Set(
      seen
        .filter(({ authorized }) => authorized)
        .map(({ mark }) => decodeURIComponent(mark.replace("by=", ""))),
    ),
  ];

  test("another port of this machine reaches nothing that a password alone protects", async () => {
    const refused = await attackFrom(`http://localhost:${plain.port}`, "localhost");
    const falls = ["fetch no-cors", "beacon", "image", "frame", "form text/plain", "window"];
    expect(signed()).toEqual(expect.arrayContaining([...falls, "web socket"]));
    expect(refused).toBeGreaterThan(100);
  });

  test("what the browser fetches ahead for a page acts on nothing", async () => {
    const page = await context.newPage();
    await page.goto(`http://localhost:${plain.port}`);
    seen.length = 0;
    await page.evaluate(`speculate("http://localhost:${decoy.port}")`);
    // As if somebody had typed the address: with the pair, and without a page to blame.
    await expect.poll(() => seen).toContainEqual({ ...speculated, path: "/stop" });
    await page.goto(`http://localhost:${plain.port}`);
    const refused = await house.answered(403);
    await harmless(async () => {
      await page.evaluate(`speculate("http://localhost:${api}")`);
      await expect.poll(() => house.answered(403)).toBeGreaterThan(refused);
      await settled();
    });
    await page.close();
  });

  test("a foreign host reaches nothing", async () => {
    const refused = await attackFrom(`http://evil.test:${plain.port}`, "127.0.0.1");
    expect(signed()).toContain("window");
    expect(refused).toBeGreaterThan(100);
  });

  test("an https page reaches nothing, with and without the browser's permission", async () => {
    const origin = `https://evil.test:${secure.port}`;
    // Chromium itself holds back what is not a navigation.
    await attackFrom(origin, "127.0.0.1");
    expect(seen.map(({ mark }) => mark)).not.toContain("by=beacon");
    await context.grantPermissions(["local-network-access"], { origin });
    const refused = await attackFrom(origin, "127.0.0.1");
    expect(seen.map(({ mark }) => mark)).toContain("by=beacon");
    expect(refused).toBeGreaterThan(100);
  });

  test("a running payment is neither cancelled nor joined by another", async () => {
    const paying = house.pay(7, "A-1");
    await until("the terminal waits for a card", async () => {
      const state = await fetch(`${house.terminalEndpoints?.control}/state`);
      const { waitsForCustomer } = (await state.json()) as { waitsForCustomer: boolean };
      return waitsForCustomer || undefined;
    });
    await attackFrom(`http://localhost:${plain.port}`, "localhost");
    await fetch(`${house.terminalEndpoints?.control}/customer`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ action: "insert" }),
    });
    expect((await paying).one.status).toBe("Success");
    expect((await house.ledger()).charged).toBe(700);
  });

  async function go(page: Page, url: string): Promise<number | undefined> {
    return (await page.goto(url))?.status();
  }

  test("going there, reloading, going back and redirects act on nothing", async () => {
    const page = await context.newPage();
    const base = `http://127.0.0.1:${api}`;
    await harmless(async () => {
      for (const path of acting) {
        const away = page.waitForResponse(base + path);
        await go(page, `http://localhost:${plain.port}/`);
        await page.evaluate(`location = "${base}${path}"`);
        expect([path, (await away).status()]).toEqual([path, 403]);
        await page.waitForURL(base + path);
        expect((await page.reload())?.status()).toBe(403);
        expect(await go(page, `http://localhost:${plain.port}/`)).toBe(200);
        expect((await page.goBack())?.status()).toBe(403);
        const sent = `http://evil.test:${plain.port}/redirect?to=${base}${path}`;
        expect(await go(page, sent)).toBe(403);
        expect(await go(page, base + path)).toBe(403);
      }
    });
    expect(await go(page, `${base}/version`)).toBe(200);
    await page.close();
  });

  test("a host name that turns to this machine is not ours", async () => {
    const page = await context.newPage();
    const own = `http://rebinding.test:${api}`;
    // The page still comes from the attacker's server; then the name becomes 127.0.0.1.
    for (const path of ["/", "/foreign-page.js"]) {
      const url = `http://127.0.0.1:${plain.port}${path}`;
      await page.route(own + path, (route) => route.continue({ url }), { times: 1 });
    }
    await page.goto(`${own}/`);
    expect(await attack(page, [own])).toBeGreaterThan(100);
    const answer = await page.evaluate(`fetch("/version").then((answer) => answer.json())`);
    expect(answer).toMatchObject([{ error: { code: "HOST_REFUSED" } }]);
    await page.close();
  });
});
