import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/installation.ts";
import { browserForFile, haveChromium } from "./chromium.ts";
import { GuardedHouse } from "./guarded-house.ts";
import { pages, type WebServer, webServer } from "./web-server.ts";

const client = readFileSync(join(projectRoot, "src/client/client.ts"), "utf8");
/** A kiosk's own page, with our client in it. */
const kiosk = pages({
  "/": "<!doctype html><title>kiosk</title><body><script type=module src=/kiosk.js></script>",
  "/kiosk.js": 'import * as c from "./client.js"; Object.assign(window, c);',
  "/client.js": stripTypeScriptTypes(client),
});

describe.skipIf(!haveChromium)("a kiosk's page of a listed origin", () => {
  const config: Record<string, string> = {};
  const house = new GuardedHouse({ terminalSwitches: ["--instant"], config });
  let local: WebServer;
  let other: WebServer;
  let secure: WebServer;
  let context: BrowserContext;
  beforeAll(async () => {
    local = await webServer(kiosk);
    other = await webServer(kiosk);
    secure = await webServer(kiosk, ["kiosk.test"]);
    const listed = [`http://localhost:${local.port}`, `https://kiosk.test:${secure.port}`];
    config["ALLOWED_ORIGINS"] = listed.join(",");
    await house.start();
    await house.connected();
  });
  const browser = browserForFile(() => [
    "--host-resolver-rules=MAP *.test 127.0.0.1",
    // What comes from this server counts as a page of the Internet.
    `--ip-address-space-overrides=127.0.0.1:${secure.port}=public`,
  ]);
  afterAll(async () => {
    await context?.close();
    for (const server of [local, other, secure]) server?.close();
    await house.stop();
  });

  /** The page of an origin, with a client that knows the pair. */
  async function kioskAt(origin: string): Promise<Page> {
    context ??= await browser().newContext({ ignoreHTTPSErrors: true });
    await context.grantPermissions(["local-network-access"], { origin });
    const page = await context.newPage();
    await page.goto(origin);
    await page.waitForFunction("window.ConnectorClient");
    const pair = { url: house.url, login: "kiosk", password: house.password };
    await page.evaluate(`client = new ConnectorClient(${JSON.stringify(pair)})`);
    return page;
  }

  const session = (orderId: string): string => `(async () => {
    const stop = new AbortController();
    const paid = await client.pay({ amount: 9, orderId: "${orderId}" });
    const again = await client.pay({ amount: 9, orderId: "${orderId}" });
    const states = [];
    for await (const { name, data } of client.events({ signal: stop.signal, afterId: 0 })) {
      if (name !== "payment" || data.orderId !== "${orderId}") continue;
      states.push(data.state);
      if (data.state === "charged") break;
    }
    stop.abort();
    const { cr } = await client.check();
    const found = await client.payment("${orderId}");
    return { paid: paid.status, replayed: again.replayed, states, cr, found: found.status };
  })()`;
  const whole = {
    paid: "Success",
    replayed: true,
    states: ["running", "charged"],
    cr: "0",
    found: "Success",
  };

  test("pays with the client, hears events and looks up; another port may not", async () => {
    const page = await kioskAt(`http://localhost:${local.port}`);
    expect(await page.evaluate(session("A-1"))).toEqual(whole);
    const foreign = await kioskAt(`http://localhost:${other.port}`);
    await expect(foreign.evaluate(session("A-2"))).rejects.toThrow("Failed to fetch");
    expect((await house.ledger()).charged).toBe(900);
  });

  test("does the same over https, as far as the browser lets it reach this machine", async () => {
    const page = await kioskAt(`https://kiosk.test:${secure.port}`);
    const before = (await house.ledger()).charged;
    expect(await page.evaluate(session("A-3"))).toEqual(whole);
    expect((await house.ledger()).charged - before).toBe(900);
  });
});
