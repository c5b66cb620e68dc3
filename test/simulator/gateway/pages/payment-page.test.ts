import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { merchantForTest } from "../merchant-for-test.ts";
import type { GatewaySandbox } from "../sandbox-for-test.ts";
import { account, eventually, generate, sandboxForTest } from "../sandbox-for-test.ts";

const VISA = "4111111111111111";
const REFUSED = "4111113333333333";

const filled: Readonly<Record<string, string>> = {
  action: "pay",
  email: "customer@example.test",
  country: "ES",
  cardType: "Visa",
  tokenCardNumber: VISA,
  tokenCardHolder: "Test Customer",
  tokenCardExpiryDateMonth: "12",
  tokenCardExpiryDateYear: "2099",
  tokenCardSecurityCode: "123",
};

const returns = {
  urlAccept: "https://shop.example.test/accept?o=1&amp;x=&quot;2&quot;",
  urlDecline: "https://shop.example.test/decline",
  urlCancel: "https://shop.example.test/cancel",
};

async function visit(changes: Readonly<Record<string, string>> = {}, options = {}) {
  const sandbox = await sandboxForTest(options);
  const { result } = await generate(sandbox, { ...returns, ...changes });
  const url = result["redirectUrl"] ?? "";
  const page = async () => (await fetch(url)).text();
  const submit = (form: Readonly<Record<string, string>>) =>
    fetch(url, {
      method: "POST",
      body: new URLSearchParams(form),
      redirect: "manual",
      headers: { origin: sandbox.url },
    });
  return { sandbox, url, page, submit };
}

const stateOf = (sandbox: GatewaySandbox) => sandbox.orders()[0]?.state;

test("the page has the elements that browser tests of merchants look for", async () => {
  const { page, url } = await visit();
  const text = await page();
  for (const id of [
    "email",
    "country",
    "cardTypeVisa",
    "tokenCardNumber",
    "tokenCardHolder",
    "tokenCardExpiryDateMonth",
    "tokenCardExpiryDateYear",
    "tokenCardSecurityCode",
    "validate_user_account_create_form",
  ]) {
    expect(text.split(`id="${id}"`)).toHaveLength(2);
  }
  expect(text).toContain("€19.99");
  const { headers } = await fetch(url);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("content-security-policy")).toContain("default-src 'none'");
});

test("a good card is charged, notified, and the customer goes back to the shop", async () => {
  const merchant = await merchantForTest();
  const { sandbox, url, page, submit } = await visit({ urlCallback: merchant.url });
  const answer = await submit({ ...filled, tokenCardNumber: "4111 1111 1111 1111" });
  expect([answer.status, answer.headers.get("location")]).toEqual([303, new URL(url).pathname]);
  expect(await page()).toContain('<div id="endSuccessTransactionBlock"');
  // WCAG 2.2.1: a page that leaves by itself gives a reader no time.
  expect(await page()).not.toMatch(/http-equiv/);
  expect(await page()).toContain('href="https://shop.example.test/accept?o=1&amp;x=&quot;2&quot;"');
  expect(sandbox.orders()[0]).toMatchObject({
    state: "captured",
    paymentMethod: "VISA",
    card: `411111${"X".repeat(6)}1111`,
  });
  await eventually(() => merchant.received.length).toBe(2);
  expect(merchant.received[0]?.xml).toContain("<emailClient>customer@example.test</emailClient>");
  expect(merchant.received[0]?.xml).toContain("<customerCountry>ES</customerCountry>");
});

test("a manual capture is only authorized", async () => {
  const { sandbox, submit } = await visit({ manualCapture: "1" });
  await submit(filled);
  expect(stateOf(sandbox)).toBe("authorized");
});

test("the refused card declines, with a reason in the notification", async () => {
  const merchant = await merchantForTest();
  const { sandbox, page, submit } = await visit({ urlCallback: merchant.url });
  await submit({ ...filled, tokenCardNumber: REFUSED });
  expect(stateOf(sandbox)).toBe("declined");
  expect(await page()).toContain('<div id="endErrorTransactionBlock"');
  expect(await page()).toContain('href="https://shop.example.test/decline"');
  await eventually(() => merchant.received.length).toBe(1);
  expect(merchant.received[0]?.xml).toContain("<status>nok</status>");
  expect(merchant.received[0]?.xml).toContain("<returnCode>05</returnCode>");
});

test("an aborted payment leads to the cancel address", async () => {
  const { sandbox, page, submit } = await visit();
  expect((await submit({ action: "abort" })).status).toBe(303);
  expect(stateOf(sandbox)).toBe("aborted");
  expect(await page()).toContain('<div id="endCancelTransactionBlock"');
  expect(await page()).toContain('href="https://shop.example.test/cancel"');
});

test("a page that was paid stays paid, whatever is posted again", async () => {
  const merchant = await merchantForTest();
  const { sandbox, submit } = await visit({ urlCallback: merchant.url });
  await submit(filled);
  await eventually(() => merchant.received.length).toBe(2);
  expect((await submit({ ...filled, tokenCardNumber: REFUSED })).status).toBe(303);
  expect((await submit({ action: "abort" })).status).toBe(303);
  expect(stateOf(sandbox)).toBe("captured");
  expect(sandbox.orders()[0]?.capturedAmount).toBe("19.99");
});

describe("what is wrong is shown, and nothing is charged:", () => {
  const wrong: ReadonlyArray<readonly [field: string, value: string, alert: string]> = [
    ["tokenCardNumber", "4012888888881881", "not one of the test cards"],
    ["tokenCardNumber", "", "not one of the test cards"],
    ["tokenCardHolder", " ", "name on the card"],
    ["tokenCardExpiryDateYear", "2020", "expired"],
    ["tokenCardExpiryDateMonth", "13", "expired"],
    ["tokenCardSecurityCode", "12", "security code"],
    ["email", "nobody", "e-mail"],
  ];
  for (const [field, value, alert] of wrong) {
    test(`${field} "${value}"`, async () => {
      const { sandbox, submit } = await visit();
      const answer = await submit({ ...filled, [field]: value });
      const text = await answer.text();
      expect(answer.status).toBe(422);
      expect(text).toMatch(new RegExp(`role="alert">[^<]*${alert}`));
      expect(text).not.toContain(VISA);
      expect(stateOf(sandbox)).toBe("created");
    });
  }
});

test("no card number reaches the disk, neither a test one nor another", async () => {
  const database = join(temporaryFolder(), "orders.db");
  const { submit } = await visit({}, { database });
  await submit({ ...filled, tokenCardNumber: "4012888888881881" });
  await submit(filled);
  const written = readdirSync(dirname(database))
    .map((name) => readFileSync(join(dirname(database), name), "latin1"))
    .join("");
  expect(written).toContain("Order_12345");
  expect(written).not.toMatch(/4012888888881881|4111111111111111/);
});

test("the page speaks the order's language", async () => {
  const buttons = {
    en_GB: "Pay €19.99<",
    fr_FR: "Payer 19,99 €<",
    es_ES: "Pagar 19,99 €<",
    it_IT: "Paga 19,99 €<",
    de_DE: "Bezahlen 19,99 €<",
    pt_PT: "Pay €19.99<",
  };
  for (const [locale, button] of Object.entries(buttons)) {
    const { page } = await visit({ locale });
    const text = await page();
    expect(text.replaceAll("\u00a0", " ")).toContain(button);
    expect(text).toContain(`<html lang="${locale === "pt_PT" ? "en" : locale.slice(0, 2)}">`);
  }
});

test.each([
  ["Order A-1", "A-1", ["Order no. A-1"]],
  ["Two tickets of A-1", "A-1", ["Two tickets of A-1"]],
  ["Two tickets", "A-1", ["Two tickets", "Order no. A-1"]],
  ["Seat A-12", "A-1", ["Seat A-12", "Order no. A-1"]],
  ["Two tickets", "", ["Two tickets"]],
])("%s, %s: the order's number stands there once", async (description, reference, lines) => {
  const { page } = await visit({ description, merchantReference: reference });
  const text = await page();
  const between = text.slice(text.indexOf('id="amount"'), text.indexOf("<form"));
  expect([...between.matchAll(/<p>([^<]*)<\/p>/g)].map(([, line]) => line)).toEqual(lines);
});

test("a page that is missing, and the operator's page, speak the browser's language", async () => {
  const sandbox = await sandboxForTest();
  const read = async (path: string, language: string) =>
    (await fetch(sandbox.url + path, { headers: { "accept-language": language } })).text();
  const missing = `/index/ws/id/${"0".repeat(32)}`;
  expect(await read(missing, "it-IT,it;q=0.9")).toContain(
    "<h1>Pagina di pagamento non trovata</h1>",
  );
  expect(await read(missing, "pt, es;q=0.5")).toContain("<h1>Página de pago no encontrada</h1>");
  expect(await read(missing, "*")).toContain("<h1>Payment page not found</h1>");
  expect(await read("/", "de")).toMatch(/<html lang="de">[\s\S]*Noch ist keine Bestellung/);
});

test("the merchant's style and logo are used, texts of orders are never markup", async () => {
  const websites = [{ id: 107, currency: "EUR", css: "https://shop.example.test/own.css" }];
  const { page } = await visit(
    {
      urlLogo: "https://shop.example.test/logo.png",
      description: "&lt;script&gt;alert(1)&lt;/script&gt;",
      merchantReference: "&lt;img src=x onerror=alert(2)&gt;",
    },
    { accounts: [{ ...account, websites }] },
  );
  const text = await page();
  expect(text).toContain('<link rel="stylesheet" href="https://shop.example.test/own.css">');
  expect(text).toContain('<img class="logo" src="https://shop.example.test/logo.png" alt="">');
  expect(text).not.toMatch(/<script|<img src=x/);
  expect(text).toContain("&lt;script&gt;");
});

test("an unknown page is not found, and other sites cannot press its buttons", async () => {
  const { sandbox, url } = await visit();
  expect((await fetch(`${sandbox.url}/index/ws/id/${"0".repeat(32)}`)).status).toBe(404);
  const foreign = await fetch(url, {
    method: "POST",
    body: new URLSearchParams(filled),
    headers: { origin: "http://evil.example.test" },
  });
  expect(foreign.status).toBe(403);
  expect(stateOf(sandbox)).toBe("created");
});
