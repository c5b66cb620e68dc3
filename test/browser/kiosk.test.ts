import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  customerMessageName,
  customerMessageOfCode,
  customerMessages,
} from "../../src/client/customer-messages.ts";
import { openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { layTicket } from "../../src/shared/kiosk-ticket.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { freePort } from "../support/installation.ts";
import { browserForFile, haveChromium } from "./chromium.ts";
import { GuardedHouse } from "./guarded-house.ts";
import { hardToUse } from "./readable.ts";

const app = join(projectRoot, "examples/kiosk");

test("the sample's words for the customer are those of the client", async () => {
  const sample = await import(pathToFileURL(join(app, "customer-messages.js")).href);
  expect(sample.customerMessages).toEqual(customerMessages);
  for (const code of [...Object.keys(customerMessageOfCode), "OTHER"]) {
    for (const charged of ["no", "yes", "unknown"] as const) {
      const told = { status: "Failed", error: { code, charged } };
      expect(sample.customerMessageName(told)).toBe(customerMessageName(told));
    }
  }
});

describe.skipIf(!haveChromium)("the sample kiosk", () => {
  const browser = browserForFile();
  let at: GuardedHouse;
  let context: BrowserContext;
  let page: Page;
  let url: string;
  const complaints: string[] = [];
  beforeAll(async () => {
    if (!haveChromium) return;
    const port = await freePort();
    at = new GuardedHouse({
      terminalSwitches: ["--customer", "manual", "--host-delay-ms", "0", "--vending"],
      config: { KIOSK_PORT: port, KIOSK_APP: app },
    });
    url = `http://localhost:${port}/`;
    await at.start();
    await at.connected();
    context = await browser().newContext();
    page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) complaints.push(message.text());
    });
    await open();
  });
  afterAll(() => at?.stop());

  const open = () => page.goto(`${url}#ticket=${layTicket(openRunDirectory(at.data))}`);
  const shows = (words: RegExp) =>
    expect.poll(() => page.locator("main").innerText()).toMatch(words);
  const press = (name: string | RegExp) => page.getByRole("button", { name }).click();
  const say = (word: string) =>
    fetch(`${at.terminalEndpoints?.control}/words`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ word, within: 20 }),
    });
  const ledger = async () => {
    const answer = await fetch(`${at.terminalEndpoints?.control}/ledger`);
    return ((await answer.json()) as { charged: number }).charged;
  };

  test("a ticket is chosen, paid with live prompts, and out before it is charged", async () => {
    await press(/^Airport/);
    await shows(/Airport, 12\.00 EUR[\s\S]*card/i);
    expect(page.url()).toBe(url);
    expect(await hardToUse(page)).toEqual([]);
    await say("approve");
    await shows(/Your ticket is being printed/);
    await shows(/Your payment is complete/);
    expect(await ledger()).toBe(1200);
    await press("FR");
    await shows(/Votre paiement est effectué/);
    await press("EN");
    await press("OK");
    await shows(/Where would you like to go/);
  });
});
