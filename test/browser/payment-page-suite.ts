import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createLogger } from "../../src/shared/process/logger.ts";
import { systemClock } from "../../src/shared/time.ts";
import type { SandboxOptions } from "../../src/simulator/gateway/parts.ts";
import { createGatewayClient } from "../../src/supervisor/gateway/gateway-client.ts";
import { HttpTransport } from "../../src/supervisor/gateway/http-transport.ts";
import { type Merchant, merchantForTest } from "../simulator/gateway/merchant-for-test.ts";
import type { GatewaySandbox } from "../simulator/gateway/sandbox-for-test.ts";
import {
  account,
  eventually,
  generate,
  LOGIN,
  PASSWORD,
  sandboxForTest,
} from "../simulator/gateway/sandbox-for-test.ts";
import { gatewaySettings } from "../supervisor/gateway-settings.ts";
import { sampleTransaction } from "../supervisor/sample-transaction.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { axeFaults } from "./axe-faults.ts";
import { browserForSuite, haveChromium, pageForSuite } from "./chromium.ts";
import { pictured } from "./pictures.ts";
import { hardToUse, hiddenParts, sizes, smallSizes } from "./readable.ts";
import { pages, type WebServer, webServer } from "./web-server.ts";

const VISA = "4111111111111111";
const REFUSED = "4111113333333333";
const OTHER = "4012888888881881";
const gif =
  "GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0";

describe.skipIf(!haveChromium)("the hosted payment page in a browser", () => {
  let shop: WebServer;
  const emptyPage = pageForSuite(browserForSuite(), { ignoreHTTPSErrors: true });
  beforeAll(async () => {
    if (!haveChromium) return;
    const titles = ["accept", "decline", "cancel"].map((way) => [
      `/${way}`,
      `<title>the shop: ${way}</title>`,
    ]);
    const listener = pages(Object.fromEntries(titles));
    shop = await webServer(
      (request, response) => {
        if (request.url === "/own.css") {
          response.writeHead(200, { "content-type": "text/css" }).end("h1 { color: rgb(1, 2, 3) }");
        } else if (request.url === "/logo.gif") {
          response
            .writeHead(200, { "content-type": "image/gif" })
            .end(Buffer.from(`${gif}\x02\x02D\x01\0;`, "latin1"));
        } else listener(request, response);
      },
      ["shop.test"],
    );
  });
  afterAll(() => shop?.close());

  const shopUrl = (path: string): string => `https://shop.test:${shop.port}${path}`;

  interface Visit {
    readonly sandbox: GatewaySandbox;
    readonly merchant: Merchant;
    readonly page: Page;
    readonly state: () => string | undefined;
  }

  /** A new order, with its payment page open. */
  async function visit(
    changes: Readonly<Record<string, string>> = {},
    options: Partial<SandboxOptions> = {},
  ): Promise<Visit> {
    const merchant = await merchantForTest();
    const sandbox = await sandboxForTest(options);
    const { result } = await generate(sandbox, {
      urlAccept: shopUrl("/accept?order=1&amp;way=back"),
      urlDecline: shopUrl("/decline"),
      urlCancel: shopUrl("/cancel"),
      urlCallback: merchant.url,
      ...changes,
    });
    const page = await opened(result["redirectUrl"] ?? "");
    return { sandbox, merchant, page, state: () => sandbox.orders()[0]?.state };
  }

  async function opened(url: string): Promise<Page> {
    const page = await emptyPage();
    await page.goto(url);
    return page;
  }

  async function fill(page: Page, card = VISA): Promise<void> {
    await page.fill("#email", "customer@example.test");
    await page.selectOption("#country", "ES");
    await page.click("#cardTypeVisa");
    await page.fill("#tokenCardNumber", card);
    await page.fill("#tokenCardHolder", "Test Customer");
    await page.selectOption("#tokenCardExpiryDateMonth", "12");
    const years = page.locator("#tokenCardExpiryDateYear option");
    await page.selectOption("#tokenCardExpiryDateYear", (await years.last().textContent()) ?? "");
    await page.fill("#tokenCardSecurityCode", "123");
  }

  /** The page as it stands, light and dark, and at 200 % on the screen of a small kiosk. */
  /** In light, and in dark where a page has colours of its own; in the whole scope in both. */
  async function expectUsable(page: Page, inDark = isWhole): Promise<void> {
    for (const colorScheme of ["dark", "light"] as const) {
      if (colorScheme === "dark" && !inDark) continue;
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, await hardToUse(page)]).toEqual([colorScheme, []]);
      const rules = colorScheme === "light" ? "all" : "colours";
      expect([colorScheme, await axeFaults(page, rules)]).toEqual([colorScheme, []]);
    }
    const size = page.viewportSize();
    await page.setViewportSize({ width: 400, height: 240 });
    expect(await hardToUse(page)).toEqual([]);
    if (size) await page.setViewportSize(size);
  }

  const pay = "#validate_user_account_create_form";
  const subjects = ({ merchant }: Visit): string[] =>
    merchant.received.map(({ xml }) => /<operation>(\w+)</.exec(xml)?.[1] ?? "");

  test("an order of the supervisor's own client is paid, and no card number stays", async () => {
    const database = join(temporaryFolder(), "orders.db");
    const sandbox = await sandboxForTest({ database });
    const log = createLogger({ program: "test", level: "error" });
    const merchant = await merchantForTest();
    const client = createGatewayClient(
      gatewaySettings(sandbox.url, {
        GATEWAY_LOGIN: LOGIN,
        GATEWAY_PWD: PASSWORD,
        GATEWAY_CALLBACK_URL: merchant.url,
      }),
      new HttpTransport(systemClock),
      log,
    );
    onTestFinished(() => client.close());
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { verdict } = await client.generate(sampleTransaction(), signal);
    const page = await opened(verdict.fields.get("redirectUrl") ?? "");
    const { orderId } = sampleTransaction();
    expect((await page.locator("main").innerText()).split(orderId)).toHaveLength(2);
    await fill(page, OTHER);
    await page.click(pay);
    await page.locator(".wrong").waitFor();
    await fill(page, "4111 1111 1111 1111");
    await page.click(pay);
    await page.locator("#endSuccessTransactionBlock").waitFor();
    await pictured(page, "payment/paid");
    expect(await page.locator("#return_link").count()).toBe(0);
    expect(await page.getByRole("status").innerText()).toContain("You can close this page.");
    expect(sandbox.orders()[0]).toMatchObject({ state: "captured", capturedAmount: "8.99" });
    await eventually(() => merchant.received.length).toBe(2);
    const folder = dirname(database);
    const written = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
    expect(written.join("")).toContain("Order_12345");
    for (const text of [...written, ...merchant.received.map(({ body }) => body)]) {
      expect(text).not.toMatch(new RegExp(`${VISA}|${OTHER}`));
    }
  });

  test("a double click charges once, and one key returns the customer to the shop", async () => {
    const visited = await visit();
    const { page, sandbox } = visited;
    await fill(page);
    await page.dblclick(pay);
    await page.locator("#endSuccessTransactionBlock").waitFor();
    expect(await page.title()).toBe("Your payment was accepted.");
    await expectUsable(page, true);
    expect(await page.evaluate("document.activeElement.id")).toBe("return_link");
    await page.keyboard.press("Enter");
    await page.waitForURL(shopUrl("/accept?order=1&way=back"));
    expect(sandbox.orders()[0]).toMatchObject({ state: "captured", capturedAmount: "19.99" });
    await eventually(() => subjects(visited)).toEqual(["authorization", "capture"]);
    await page.goBack();
    expect(await page.locator(pay).count()).toBe(0);
  });

  test("the refused card declines, an abort aborts; both lead back to the shop", async () => {
    const declined = await visit();
    await fill(declined.page, REFUSED);
    await pictured(declined.page, "payment/form");
    await declined.page.click(pay);
    await declined.page.locator("#endErrorTransactionBlock").waitFor();
    expect(await declined.page.title()).toBe("Your payment was declined. Nothing was charged.");
    await pictured(declined.page, "payment/refused");
    await expectUsable(declined.page);
    await declined.page.click("#return_link");
    expect(await declined.page.title()).toBe("the shop: decline");
    expect(declined.state()).toBe("declined");

    const aborted = await visit();
    await aborted.page.click("#cancel_payment");
    await aborted.page.locator("#endCancelTransactionBlock").waitFor();
    expect(await aborted.page.title()).toBe("The payment was cancelled. Nothing was charged.");
    await pictured(aborted.page, "payment/cancelled");
    await expectUsable(aborted.page);
    await aborted.page.click("#return_link");
    expect(aborted.page.url()).toBe(shopUrl("/cancel"));
    expect(aborted.state()).toBe("aborted");
  });

  test("a wrong field has the focus and says what is wrong; nothing is charged", async () => {
    const { page, state } = await visit();
    await page.click(pay);
    // The browser itself asks for what is missing.
    expect(await page.evaluate("document.activeElement.id")).toBe("email");
    await fill(page, OTHER);
    await page.click(pay);
    await page.locator("[role=alert]").waitFor();
    const number = page.getByLabel("Card number");
    expect(await number.inputValue()).toBe("");
    expect(await page.evaluate("document.activeElement.id")).toBe("tokenCardNumber");
    expect(await number.getAttribute("aria-describedby")).toBe("fault");
    const fault = page.locator("#fault:has(+ [for=tokenCardNumber])");
    expect(await fault.textContent()).toMatch(/not one of the test cards.* expiry date and/);
    await pictured(page, "payment/wrong-field", /status of 422/);
    await expectUsable(page, true);
    expect(await page.getByLabel("Name on the card").inputValue()).toBe("Test Customer");
    expect(await hardToUse(page)).toEqual([]);
    expect(state()).toBe("created");
  });

  test("everything can be done with the keyboard, in the order of the page", async () => {
    const { page, state } = await visit();
    const typed: Readonly<Record<string, string>> = {
      email: "customer@example.test",
      country: "Spain",
      cardTypeVisa: "",
      tokenCardNumber: VISA,
      tokenCardHolder: "Test Customer",
      tokenCardExpiryDateMonth: "12",
      tokenCardExpiryDateYear: "203",
      tokenCardSecurityCode: "123",
    };
    for (const [id, text] of Object.entries(typed)) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.id")).toBe(id);
      await page.keyboard.type(text);
    }
    await page.keyboard.press("Tab");
    const outline = "getComputedStyle(document.activeElement).outlineWidth";
    expect(await page.evaluate(outline)).toBe("3px");
    await page.keyboard.press("Enter");
    await page.locator("#endSuccessTransactionBlock").waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("return_link");
    expect(await page.evaluate(outline)).toBe("3px");
    expect(state()).toBe("captured");
  });

  const languages: ReadonlyArray<readonly [locale: string, label: string, amount: string]> = [
    ["en_GB", "Card number", "€19.99"],
    ["fr_FR", "Numéro de carte", "19,99 €"],
    ["es_ES", "Número de tarjeta", "19,99 €"],
    ["it_IT", "Numero della carta", "19,99 €"],
    ["de_DE", "Kartennummer", "19,99 €"],
  ];
  test.each(rowsOf(languages, 4))("%s is easy to use", async (locale, label, amount) => {
    const { page } = await visit({ locale, description: "x".repeat(60) });
    expect(await page.getByLabel(label).count()).toBe(1);
    const displayed = (await page.locator("#amount").textContent()) ?? "";
    expect(displayed.replace(/\s/g, " ")).toBe(amount);
    // Where words are longest, the smallest window is enough.
    for (const size of locale === "en_GB" ? [...sizes, ...smallSizes] : sizes.slice(-1)) {
      await page.setViewportSize(size);
      expect([size, await hardToUse(page)]).toEqual([size, []]);
      const hidden = await hiddenParts(page, "#amount, form button", true);
      expect([size, hidden]).toEqual([size, []]);
    }
    await expectUsable(page);
    await page.click("#cancel_payment");
    await page.locator("#endCancelTransactionBlock").waitFor();
    expect(await hardToUse(page)).toEqual([]);
  });

  test("the merchant's style and logo come over https", async () => {
    const websites = [{ id: 107, currency: "EUR", css: shopUrl("/own.css") }];
    const { page } = await visit(
      { urlLogo: shopUrl("/logo.gif") },
      { accounts: [{ ...account, websites }] },
    );
    const color = `getComputedStyle(document.querySelector("h1")).color`;
    expect(await page.evaluate(color)).toBe("rgb(1, 2, 3)");
    expect(await page.evaluate(`document.querySelector(".logo").naturalWidth`)).toBe(1);
    // A style sheet that was written for a light page gets one.
    await page.emulateMedia({ colorScheme: "dark" });
    const background = `getComputedStyle(document.querySelector("main")).backgroundColor`;
    expect(await page.evaluate(background)).toBe("rgb(255, 255, 255)");
    expect(await hardToUse(page)).toEqual([]);
    const sandbox = await sandboxForTest();
    const plain = await generate(sandbox, { urlLogo: `http://127.0.0.1:${shop.port}/logo.gif` });
    expect(plain.result).toMatchObject({ code: "3" });
  });

  test("an address that leads to no order is answered with a readable text", async () => {
    const sandbox = await sandboxForTest();
    const page = await opened(`${sandbox.url}/index/ws/id/${"0".repeat(32)}`);
    expect(await page.getByRole("heading").textContent()).toBe("Payment page not found");
    expect(await page.locator("main").innerText()).toMatch(/ask the shop before you pay again/);
    await pictured(page, "payment/missing", /status of 404/);
    await expectUsable(page);
  });
});
