import { describe, expect, test } from "vitest";
import { startGatewaySandbox } from "../../../../src/simulator/gateway/sandbox.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import {
  account,
  elements,
  generate,
  LOGIN,
  orderRequest,
  PASSWORD,
  post,
  sandboxForTest,
  soapRequest,
} from "../sandbox-for-test.ts";

const SOAP = "http://schemas.xmlsoap.org/soap/envelope/";

test("an order is stored and answered with the address of its payment page", async () => {
  const sandbox = await sandboxForTest();
  const { status, text } = await generate(sandbox);
  const [order] = sandbox.orders();
  expect(status).toBe(200);
  expect(text).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope xmlns:SOAP-ENV="${SOAP}" ` +
      'xmlns:ns1="http://gateway.example.test/soap/payment-v2"><SOAP-ENV:Body>' +
      "<ns1:generateResponse><generateResult>" +
      `<redirectUrl>${sandbox.url}${order?.page}</redirectUrl><code>0</code>` +
      "<description>N/A</description></generateResult></ns1:generateResponse>" +
      "</SOAP-ENV:Body></SOAP-ENV:Envelope>",
  );
  expect(order).toMatchObject({
    merchantReference: "Order_12345",
    websiteId: 107,
    amount: "19.99",
    amountMinor: 1999,
    currency: "EUR",
    state: "created",
    manualCapture: false,
    requests: 1,
  });
  expect(order?.transactionPublicId).toMatch(/^[0-9A-F]{16}$/);
  expect(order?.page).toMatch(/^\/index\/ws\/id\/[0-9a-f]{32}$/);
  const { wsPassword: _, ...displayed } = orderRequest;
  expect(order?.fields).toEqual(displayed);
});

test("orders are listed over HTTP, newest first, without any password", async () => {
  const sandbox = await sandboxForTest();
  await generate(sandbox, { merchantReference: "first" });
  await generate(sandbox, {
    merchantReference: "second",
    freeData:
      "<item><key>transaction</key><value>T-1</value></item>" +
      "<item><key>card</key><value></value></item>",
  });
  const response = await fetch(`${sandbox.url}/sandbox/orders`);
  const text = await response.text();
  const listed = JSON.parse(text);
  expect(listed.map((order: { merchantReference: string }) => order.merchantReference)).toEqual([
    "second",
    "first",
  ]);
  expect(listed[0].freeData).toEqual({ transaction: "T-1", card: "" });
  expect(text).not.toContain(PASSWORD);
  expect(response.headers.get("x-total-count")).toBe("2");
  const filtered = await fetch(`${sandbox.url}/sandbox/orders?merchantReference=first&limit=5`);
  expect(await filtered.json()).toHaveLength(1);
  expect((await fetch(`${sandbox.url}/sandbox/orders?limit=none`)).status).toBe(400);
});

test("a repeated merchant reference makes another order and both count it", async () => {
  const sandbox = await sandboxForTest();
  await generate(sandbox);
  await generate(sandbox, { amount: "0" });
  await generate(sandbox);
  const orders = sandbox.orders();
  expect(orders.map(({ requests }) => requests)).toEqual([3, 3]);
  expect(new Set(orders.map(({ transactionPublicId }) => transactionPublicId)).size).toBe(2);
});

test("orders outlive the sandbox", async () => {
  const options = { accounts: [account], database: `${temporaryFolder()}/orders.db` };
  const first = await startGatewaySandbox(options);
  await generate(first);
  const before = first.orders();
  await first.close();
  const second = await sandboxForTest(options);
  expect(second.orders()).toEqual(before);
  expect(before).toHaveLength(1);
});

test("a card number in a text is stored masked only", async () => {
  const sandbox = await sandboxForTest();
  const pan = "4111111111111111";
  await generate(sandbox, {
    description: `paid with ${pan}`,
    freeData: `<item><key>card</key><value>${pan}</value></item>`,
  });
  const displayed = JSON.stringify(sandbox.orders());
  expect(displayed).not.toContain(pan);
  expect(sandbox.orders()[0]?.freeData).toEqual({ card: `411111${"X".repeat(6)}1111` });
});

describe("every shape of envelope is understood:", () => {
  const parameters = elements(orderRequest);
  const nil = '<urlLogo xmlns:x="http://www.w3.org/2001/XMLSchema-instance" x:nil="true"/>';
  const reversed = elements(Object.fromEntries(Object.entries(orderRequest).reverse()));
  const bare = (body: string) =>
    `<Envelope xmlns="${SOAP}"><Body><generate xmlns=""><parameters>${body}</parameters>` +
    "</generate></Body></Envelope>";
  const shapes: Record<string, string> = {
    "another order of fields": soapRequest("payment-v2", "generate", reversed),
    "no prefixes at all": bare(parameters),
    "a header": soapRequest("payment-v2", "generate", parameters).replace(
      "<e:Body>",
      "<e:Header><h:x xmlns:h='urn:x'>1</h:x></e:Header><e:Body>",
    ),
    "xsi:nil": soapRequest("payment-v2", "generate", parameters + nil),
    "layout blanks": soapRequest("payment-v2", "generate", parameters).replaceAll("><", ">\r\n <"),
    "a namespace on every parameter": bare(parameters).replace('xmlns=""', 'xmlns="urn:all"'),
    "CDATA and character references": soapRequest("payment-v2", "generate", parameters).replace(
      "Two tickets",
      "<![CDATA[Two]]>&#x20;tick&#101;ts",
    ),
  };
  for (const [name, body] of Object.entries(shapes)) {
    test(name, async () => {
      const sandbox = await sandboxForTest();
      const { result } = await post(`${sandbox.url}/soap/payment-v2/generate`, body);
      expect(result["code"]).toBe("0");
      expect(sandbox.orders()[0]?.fields).toMatchObject({ description: "Two tickets" });
    });
  }
});

test("a SOAPAction, an operation path and a slash at the end change nothing", async () => {
  const sandbox = await sandboxForTest();
  const body = soapRequest("payment-v2", "generate", elements(orderRequest));
  for (const path of ["/soap/payment-v2", "/soap/payment-v2/generate", "/soap/payment-v2/"]) {
    const { result } = await post(sandbox.url + path, body, { soapaction: '"urn:any#thing"' });
    expect(result["code"]).toBe("0");
  }
  expect(sandbox.orders()).toHaveLength(3);
});

describe("the values real clients send are accepted:", () => {
  const accepted: ReadonlyArray<readonly [name: string, values: readonly string[]]> = [
    ["manualCapture", ["0", "1", "true", "false", " 1 "]],
    ["amount", ["14.39", "100", "4", "4.00", "1.0E2", "0.01"]],
    ["categoryId", ["0", "1"]],
    ["rating", ["+12", "+16", "+18", "ALL"]],
    [
      "executionDate",
      [
        "2026-11-21T04:21:39",
        "2026-11-21UTC04:21:39",
        "2026-11-21CEST04:21:39",
        "2026-11-21 04:21:39",
        "2026-11-21T04:21:39+01:00",
        "2026-11-21T04:21:39.123Z",
      ],
    ],
    ["customerEmail", ["", "a@b.example"]],
    ["merchantReference", ["", "42"]],
    ["description", ["42", "é".repeat(255), "a &amp; b &lt;c&gt; &quot;d&quot;"]],
    ["freeData", ["", "<item><key>k</key><value>v</value></item>"]],
    ["freedata", ["<item><key>k</key><value>v</value></item>"]],
    ["urlAccept", ["", "https://shop.example.test/ok?a=1&amp;b=2"]],
    [
      "items",
      [
        "<item><name>Café</name><type>4</type><infos/><amount>9.99</amount>" +
          "<quantity>2</quantity><reference>R1</reference><taxes><item><label>VAT</label>" +
          "<amount>1.5</amount></item></taxes></item>",
      ],
    ],
    ["wsSubAccountId", [""]],
    ["method", ["iframe"]],
  ];
  for (const [name, values] of accepted) {
    test(name, async () => {
      const sandbox = await sandboxForTest();
      for (const value of values) {
        const { status, result } = await generate(sandbox, { [name]: value });
        expect([value, status, result["code"], result["description"]]).toEqual([
          value,
          200,
          "0",
          "N/A",
        ]);
      }
      expect(sandbox.orders()).toHaveLength(values.length);
    });
  }
});

test("description, locale and urlCallback may be nil, as the real types say", async () => {
  const sandbox = await sandboxForTest();
  const { description: _d, locale: _l, urlCallback: _u, ...rest } = orderRequest;
  const nil = ["description", "locale", "urlCallback"]
    .map((name) => `<${name} xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil="1"/>`)
    .join("");
  const body = soapRequest("payment-v2", "generate", elements(rest) + nil);
  const { result } = await post(`${sandbox.url}/soap/payment-v2`, body);
  expect(result["code"]).toBe("0");
});

test("a locale that is missing or empty stands for the default", async () => {
  const sandbox = await sandboxForTest();
  for (const locale of [undefined, ""]) {
    expect((await generate(sandbox, { locale })).result["code"]).toBe("0");
    const page = await fetch(sandbox.url + sandbox.orders()[0]?.page);
    expect(await page.text()).toContain('<html lang="en">');
  }
});

/** Column "Required" of the order request (docs/design.md 12.10), locale aside. */
const mandatory = [
  "wsLogin",
  "wsPassword",
  "websiteId",
  "categoryId",
  "currency",
  "amount",
  "rating",
  "customerIpAddress",
  "executionDate",
  "manualCapture",
  "description",
  "urlCallback",
];

describe("a missing mandatory parameter is answered with HTTP 500 naming it:", () => {
  for (const name of mandatory) {
    test(name, async () => {
      const sandbox = await sandboxForTest();
      const { status, result } = await generate(sandbox, { [name]: undefined });
      expect(status).toBe(500);
      expect(result).toEqual({
        redirectUrl: "",
        code: "3",
        description: `${name} invalid: mandatory parameter is missing`,
      });
      expect(sandbox.orders()).toEqual([]);
    });
  }
});

test("an empty mandatory parameter is answered with code 3 naming it", async () => {
  const sandbox = await sandboxForTest();
  for (const name of mandatory.filter((field) => !field.startsWith("ws"))) {
    const { status, result } = await generate(sandbox, { [name]: "" });
    expect([status, result["code"]]).toEqual([200, "3"]);
    expect(result["description"]).toBe(`${name} invalid: it is empty`);
  }
  expect(sandbox.orders()).toEqual([]);
});

/** Column "Length" of the table, with a value of exactly that length. */
const longest: Readonly<Record<string, string>> = {
  description: "d".repeat(255),
  customerEmail: `${"e".repeat(20)}@example.com`,
  merchantReference: "r".repeat(255),
  merchantComment: "c".repeat(255),
  emailCallback: `${"e".repeat(243)}@example.com`,
  urlCallback: `https://shop.example.test/${"u".repeat(229)}`,
  urlAccept: `https://shop.example.test/${"u".repeat(229)}`,
  urlDecline: `https://shop.example.test/${"u".repeat(229)}`,
  urlCancel: `https://shop.example.test/${"u".repeat(229)}`,
  urlLogo: `https://shop.example.test/${"u".repeat(229)}`,
};

describe("a value of the longest length passes, one character more is code 3:", () => {
  for (const [name, value] of Object.entries(longest)) {
    test(name, async () => {
      const sandbox = await sandboxForTest();
      expect([32, 255]).toContain(value.length);
      expect((await generate(sandbox, { [name]: value })).result["code"]).toBe("0");
      const over = name === "customerEmail" || name === "emailCallback" ? `e${value}` : `${value}u`;
      const { status, result } = await generate(sandbox, { [name]: over });
      expect([status, result["code"], result["redirectUrl"]]).toEqual([200, "3", ""]);
      expect(result["description"]).toContain(`${name} invalid: ${over.length} characters`);
      expect(sandbox.orders()).toHaveLength(1);
    });
  }
});

describe("a value out of its format is code 3 and names the field:", () => {
  const wrong: ReadonlyArray<readonly [name: string, values: readonly string[]]> = [
    ["websiteId", ["108", "abc", "123456789012"]],
    ["categoryId", ["99", "-1", "x", "123456789012"]],
    ["currency", ["USD", "eur", "EURO", "978"]],
    ["amount", ["0", "-1", "1,50", "9.999", "abc", "1e9999", "NaN", "INF", "99999999999999999"]],
    ["rating", ["12", "all", "+120"]],
    ["locale", ["en", "en-GB", "en_GBR"]],
    ["customerIpAddress", ["localhost", "1.2.3", "1234:1234:1234::"]],
    ["executionDate", ["2026-13-01T00:00:00", "2026-02-30T00:00:00", "05/07/2026", "now"]],
    ["executionDate", ["2026-07-05T24:00:00", `2026-07-05T00:00:00.123456789+01:00000`]],
    ["manualCapture", ["2", "yes", "TRUE"]],
    ["urlCallback", ["shop.example.test", "javascript:alert(1)", "ftp://x.test"]],
    ["urlLogo", ["http://shop.example.test/logo.png"]],
    ["customerEmail", ["nobody"]],
  ];
  for (const [name, values] of wrong) {
    test(`${name} ${values[0]}`, async () => {
      const sandbox = await sandboxForTest();
      for (const value of values) {
        const { status, result } = await generate(sandbox, { [name]: value });
        expect([value, status, result["code"]]).toEqual([value, 200, "3"]);
        expect(result["description"]).toMatch(new RegExp(`^${name} invalid: `));
      }
      expect(sandbox.orders()).toEqual([]);
    });
  }
});

test("bad credentials are code 1 with an empty redirectUrl, naming the login", async () => {
  const sandbox = await sandboxForTest();
  for (const changes of [{ wsPassword: "wrong" }, { wsLogin: "nobody" }, { wsLogin: "" }]) {
    const { status, text, result } = await generate(sandbox, changes);
    const login = "wsLogin" in changes ? changes.wsLogin : LOGIN;
    expect(status).toBe(200);
    expect(text).toContain("<redirectUrl/><code>1</code>");
    expect(result["description"]).toBe(`Bad password for login '${login}'`);
  }
  expect(sandbox.orders()).toEqual([]);
});

describe("a sub-account named by", () => {
  const cases = [
    ["a known id", { wsSubAccountId: "5" }, ""],
    ["an unknown id", { wsSubAccountId: "6" }, "wsSubAccountId 6 not found"],
    ["a known login", { wsSubAccountLogin: "sub" }, ""],
    ["an unknown login", { wsSubAccountLogin: "no" }, "wsSubAccountLogin 'no' not found"],
    ["id and login", { wsSubAccountId: "5", wsSubAccountLogin: "sub" }, ""],
    [
      "the id of one and the login of another",
      { wsSubAccountId: "5", wsSubAccountLogin: "sub2" },
      "wsSubAccountLogin 'sub2' not found for wsSubAccountId 5",
    ],
    ["empty texts", { wsSubAccountId: "", wsSubAccountLogin: "" }, ""],
  ] as const;
  for (const [name, parameters, description] of cases) {
    test(`${name} ${description === "" ? "passes" : "is code 7"}`, async () => {
      const subAccounts = [
        { id: 5, login: "sub" },
        { id: 7, login: "sub2" },
      ];
      const sandbox = await sandboxForTest({ accounts: [{ ...account, subAccounts }] });
      const { result } = await generate(sandbox, parameters);
      const expected = description === "" ? ["0", "N/A"] : ["7", description];
      expect([result["code"], result["description"]]).toEqual(expected);
      expect(sandbox.orders()).toHaveLength(description === "" ? 1 : 0);
    });
  }
});

test("unknown, repeated and misplaced parameters are answered with HTTP 500", async () => {
  const sandbox = await sandboxForTest();
  const all = elements(orderRequest);
  const strange = [
    [`${all}<colour>red</colour>`, "colour"],
    [`${all}<amount>1</amount>`, "amount"],
    [`${all}<freeData/><freedata/>`, "freedata"],
    [all.replace("19.99", "<b>1</b>"), "b"],
    [`${all}<freeData><thing/></freeData>`, "thing"],
    [`${all}<freeData><item><key>k</key></item></freeData>`, "value"],
  ] as const;
  for (const [parameters, named] of strange) {
    const body = soapRequest("payment-v2", "generate", parameters);
    const { status, result } = await post(`${sandbox.url}/soap/payment-v2`, body);
    expect([named, status, result["code"]]).toEqual([named, 500, "3"]);
    expect(result["description"]).toMatch(new RegExp(`^${named} invalid: `));
  }
  expect(sandbox.orders()).toEqual([]);
});

test("what cannot be dispatched is a SOAP fault", async () => {
  const sandbox = await sandboxForTest();
  const good = soapRequest("payment-v2", "generate", elements(orderRequest));
  const bad: ReadonlyArray<readonly [body: string, status: number, message: string]> = [
    ["", 500, "not readable XML"],
    ["not xml", 500, "not readable XML"],
    [good.slice(0, -5), 500, "not readable XML"],
    ["<a/>", 500, "the root element is a"],
    [good.replaceAll(SOAP, "http://www.w3.org/2003/05/soap-envelope"), 500, "VersionMismatch"],
    [good.replace(/<o:generate.*o:generate>/, ""), 500, "no operation element"],
    [good.replaceAll("o:generate", "o:destroy"), 500, "no operation destroy"],
    [
      good.replace("<e:Body>", '<e:Header><a e:mustUnderstand="1"/></e:Header><e:Body>'),
      500,
      "MustUnderstand",
    ],
  ];
  for (const [body, status, message] of bad) {
    const answered = await post(`${sandbox.url}/soap/payment-v2`, body);
    expect([message, answered.status]).toEqual([message, status]);
    expect(answered.text).toContain("<SOAP-ENV:Fault><faultcode>SOAP-ENV:");
    expect(answered.text).toContain(message);
  }
});

test("other content types, encodings, sizes and addresses are refused", async () => {
  const sandbox = await sandboxForTest();
  const body = soapRequest("payment-v2", "generate", elements(orderRequest));
  const url = `${sandbox.url}/soap/payment-v2`;
  const status = async (at: string, text: string, headers = {}) =>
    (await post(at, text, headers)).status;
  expect(await status(url, body, { "content-type": "application/json" })).toBe(415);
  expect(await status(url, body, { "content-type": "text/xml; charset=iso-8859-1" })).toBe(415);
  expect(await status(url, body, { "content-encoding": "gzip" })).toBe(415);
  expect(await status(url, " ".repeat(300_000))).toBe(413);
  expect(await status(`${sandbox.url}/soap/other-v2`, body)).toBe(404);
  expect(await status(`${url}/confirm`, body)).toBe(404);
  expect((await fetch(url)).status).toBe(404);
  expect(await status(url, body, { origin: "http://evil.example.test" })).toBe(403);
  expect(sandbox.orders()).toEqual([]);
});
