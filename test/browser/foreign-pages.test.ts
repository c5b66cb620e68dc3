import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { GuardedHouse } from "./guarded-house.ts";
import { type Arrived, pages, passwordOnly, type WebServer, webServer } from "./web-server.ts";

const source = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");
const client = readFileSync(join(projectRoot, "src/client/client.ts"), "utf8");
const doctype = "<!doctype html><title>a page</title><body>";

/** The same pages on every server: who they come from decides. */
const site = pages({
  "/": `${doctype}<script src=/foreign-page.js></script>`,
  "/foreign-page.js": source("foreign-page.js"),
  "/worker.js": "",
  "/kiosk": `${doctype}<script type=module src=/kiosk-page.js></script>`,
  "/kiosk-page.js": source("kiosk-page.js"),
  "/client.js": stripTypeScriptTypes(client),
});
/** After which nothing more is expected of a page. */
const QUIET_MS = 200;
const acting = ["/cancel", "/stop", "/reset", "/tlc"];
/** An attempt of each kind: another port of this machine tries all, other pages these. */
const oneOfEach = ["fetch no-cors", "image", "beacon", "form text/plain", "web socket", "window"];
const others = isWhole ? undefined : oneOfEach;
const OTHERS_REFUSED_MIN = isWhole ? 100 : 20;

describe.skipIf(!haveChromium)("pages in a browser that is signed in", () => {
  const config: Record<string, string> = { POLL_INTERVAL_MS: "60000" };
  const house = new GuardedHouse({
    terminalSwitches: ["--customer", "manual", "--host-delay-ms", "0"],
    config,
  });
  /** What reached a server that only checks the password. */
  const requests: Arrived[] = [];
  let decoy: WebServer;
  let plain: WebServer;
  let secure: WebServer;
  /** Of the kiosk's own page; listed in ALLOWED_ORIGINS. */
  let own: WebServer;
  let ownSecure: WebServer;
  let context: BrowserContext;
  let api: number;

  beforeAll(async () => {
    plain = await webServer(site);
    secure = await webServer(site, ["evil.test"]);
    own = await webServer(site);
    ownSecure = await webServer(site, ["kiosk.test"]);
    const listed = [`http://localhost:${own.port}`, `https://kiosk.test:${ownSecure.port}`];
    config["ALLOWED_ORIGINS"] = listed.join(",");
    decoy = await webServer(passwordOnly(`kiosk:${house.password}`, requests));
    await house.start();
    await house.connected();
    api = Number(new URL(house.url).port);
  });
  const browser = browserForSuite(() => [
    "--host-resolver-rules=MAP *.test 127.0.0.1",
    // What comes from these servers counts as a page of the Internet.
    `--ip-address-space-overrides=${[secure, ownSecure]
      .map(({ port }) => `127.0.0.1:${port}=public`)
      .join(",")}`,
  ]);
  beforeAll(async () => {
    if (!haveChromium) return;
    context = await browser().newContext({ ignoreHTTPSErrors: true });
    await house.signIn(context, [api, decoy.port]);
  });
  afterAll(async () => {
    await context?.close();
    for (const server of [decoy, plain, secure, own, ownSecure]) server?.close();
    await house.stop();
  });

  /** Runs `act`, after which the terminal and the journal must be as they were. */
  async function harmless<T>(act: () => Promise<T>): Promise<T> {
    await house.delivered();
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
      if (arrived === `${refused} ${requests.length}`) return refused;
      arrived = `${refused} ${requests.length}`;
      await sleep(systemClock, "more requests", QUIET_MS);
    }
  }

  /**
   * Attempts of a page, all or the named ones; how often the API refused. Those that `arrive` at
   * the decoy are waited for: a window may open later than {@link settled} waits.
   */
  async function attack(
    page: Page,
    urls: readonly string[],
    names?: readonly string[],
    arrive: readonly string[] = [],
  ): Promise<number> {
    const refused = await settled();
    requests.length = 0;
    return await harmless(async () => {
      await Promise.all(
        urls.map((url) => page.evaluate(`attack("${url}", ${JSON.stringify(names)})`)),
      );
      await expect.poll(signed).toEqual(expect.arrayContaining([...arrive]));
      return (await settled()) - refused;
    });
  }

  async function attackFrom(
    origin: string,
    host: string,
    names?: readonly string[],
    arrive?: readonly string[],
  ): Promise<number> {
    const page = await context.newPage();
    await page.goto(origin);
    const refused = await attack(
      page,
      [decoy.port, api].map((port) => `http://${host}:${port}`),
      names,
      arrive,
    );
    await page.close();
    return refused;
  }

  /** Attempts that reached the decoy with the remembered pair. */
  const signed = (): string[] => [
    ...new Set(
      requests
        .filter(({ authorized }) => authorized)
        .map(({ mark }) => decodeURIComponent(mark.replace("by=", ""))),
    ),
  ];

  test("another port of this machine reaches nothing that a password alone protects", async () => {
    const falls = ["fetch no-cors", "beacon", "image", "frame", "form text/plain", "window"];
    const arrive = [...falls, "web socket"];
    const origin = `http://localhost:${plain.port}`;
    const refused = await attackFrom(origin, "localhost", undefined, arrive);
    expect(refused).toBeGreaterThan(100);
  });

  const prefetches = [
    ["ahead of time", "speculate"],
    ["in the background", "fetchInBackground"],
  ] as const;
  test.each(rowsOf(prefetches, 2))(
    "a prefetch that the browser makes for a page %s changes nothing",
    async (_, way) => {
      const page = await context.newPage();
      await page.goto(`http://localhost:${plain.port}`);
      requests.length = 0;
      const refused = await house.answered(403);
      await harmless(async () => {
        await page.evaluate(`${way}("http://localhost:${api}", "http://localhost:${decoy.port}")`);
        // Like an address that a user typed: with the password, and without a page it came from.
        const typed = { method: "GET", mark: "", authorized: true, site: "none" };
        await expect.poll(() => requests).toContainEqual({ ...typed, path: "/stop" });
        await expect.poll(() => house.answered(403)).toBeGreaterThan(refused);
        await settled();
      });
      await page.close();
    },
  );

  test("a page of a foreign host reaches nothing", async () => {
    const origin = `http://evil.test:${plain.port}`;
    const refused = await attackFrom(origin, "127.0.0.1", others, ["window"]);
    expect(refused).toBeGreaterThan(OTHERS_REFUSED_MIN);
  });

  test("an https page reaches nothing, with and without the browser's permission", async () => {
    const origin = `https://evil.test:${secure.port}`;
    // Chromium itself holds back what is not a navigation.
    await attackFrom(origin, "127.0.0.1", ["fetch no-cors", "beacon", "image", "form get"]);
    expect(requests.map(({ mark }) => mark)).not.toContain("by=beacon");
    await context.grantPermissions(["local-network-access"], { origin });
    const refused = await attackFrom(origin, "127.0.0.1", others);
    expect(requests.map(({ mark }) => mark)).toContain("by=beacon");
    expect(refused).toBeGreaterThan(OTHERS_REFUSED_MIN);
  });

  test("a foreign page can neither cancel a running payment nor join it", async () => {
    const paying = house.pay(7, "A-1");
    await house.waitsForCard();
    await attackFrom(`http://localhost:${plain.port}`, "localhost", oneOfEach);
    await house.presentCard();
    expect((await paying).one.status).toBe("Success");
    expect((await house.ledger()).charged).toBe(700);
  });

  async function go(page: Page, url: string): Promise<number | undefined> {
    return (await page.goto(url))?.status();
  }

  test("navigating to the API, reloading, going back and redirects change nothing", async () => {
    const page = await context.newPage();
    const base = `http://127.0.0.1:${api}`;
    await harmless(async () => {
      for (const path of rowsOf(acting, 4)) {
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

  test("a page whose host name was made to resolve to this machine counts as foreign", async () => {
    const page = await context.newPage();
    const name = `http://rebinding.test:${api}`;
    // The page still comes from the attacker's server; then the name becomes 127.0.0.1.
    for (const path of ["/", "/foreign-page.js"]) {
      const url = `http://127.0.0.1:${plain.port}${path}`;
      await page.route(name + path, (route) => route.continue({ url }), { times: 1 });
    }
    await page.goto(`${name}/`);
    expect(await attack(page, [name], others)).toBeGreaterThan(OTHERS_REFUSED_MIN);
    const answer = await page.evaluate(`fetch("/version").then((answer) => answer.json())`);
    expect(answer).toMatchObject([{ error: { code: "HOST_REFUSED" } }]);
    await page.close();
  });

  /** What the kiosk's page at this origin gets for an order, the customer's card included. */
  async function session(origin: string, orderId: string): Promise<unknown> {
    await context.grantPermissions(["local-network-access"], { origin });
    const page = await context.newPage();
    await page.goto(`${origin}/kiosk`);
    await page.waitForFunction("window.session");
    const options = JSON.stringify({ url: house.url, login: "kiosk", password: house.password });
    const given = page.evaluate(`session(${options}, "${orderId}")`);
    given.catch(() => undefined); // the test looks at it below
    await Promise.race([house.presentCard(), given.catch(() => undefined)]);
    return await given.finally(() => page.close());
  }

  const listed = [
    [
      "the Internet, as far as the browser lets it",
      () => `https://kiosk.test:${ownSecure.port}`,
      "B-2",
    ],
    ["another port of this machine", () => `http://localhost:${own.port}`, "B-1"],
  ] as const;
  test.each(rowsOf(listed, 2))(
    "a listed page from %s pays, listens and looks up with the client",
    async (_, origin, id) => {
      const before = (await house.ledger()).charged;
      expect(await session(origin(), id)).toEqual({
        paid: "Success",
        replayed: true,
        states: ["running", "charged"],
        cr: "0",
        found: "Success",
      });
      expect((await house.ledger()).charged - before).toBe(900);
    },
  );

  test("a page that is not listed gets nothing by knowing the name and the password", async () => {
    const origin = `http://localhost:${plain.port}`;
    await harmless(() => expect(session(origin, "B-3")).rejects.toThrow("Failed to fetch"));
  });
});
