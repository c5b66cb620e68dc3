import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { XMLValidator } from "fast-xml-parser";
import { describe, expect, test } from "vitest";
import { cleanText, orderFields } from "../../../src/supervisor/gateway/order-fields.ts";
import { orderRequestOf } from "../../../src/supervisor/gateway/order-request.ts";
import { createOrderWriter } from "../../../src/supervisor/gateway/order-writer.ts";
import { createSoapWriter } from "../../../src/supervisor/gateway/soap-writer.ts";
import { gatewaySettings } from "../gateway-settings.ts";
import { parametersOf } from "../recording-gateway.ts";
import { fullTransaction, MASKED_PAN, sampleTransaction } from "../sample-transaction.ts";

const url = "https://gateway.example/base";
const settings = gatewaySettings(url, {
  GATEWAY_PWD: "p&ss",
  GATEWAY_CALLBACK_URL: "https://shop.example/notify?a=1&b=2",
});
const transactionId = "0e7a3bd6-3f6f-4a6c-9a57-0d5f6f1f2a3b";

const head =
  '<?xml version="1.0" encoding="utf-8"?>' +
  '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" ' +
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"  ' +
  'xmlns:tns="https://gateway.example/base/soap/payment-v2">' +
  "<soap:Body><tns:generate><parameters><wsLogin>login</wsLogin><wsPassword>p&amp;ss</wsPassword>" +
  "<websiteId>107</websiteId><categoryId>5</categoryId><currency>EUR</currency>" +
  "<amount>8.99</amount><rating>ALL</rating><locale>en_GB</locale>" +
  "<customerIpAddress>127.0.0.1</customerIpAddress>" +
  "<executionDate>2026-01-15T11:59:58</executionDate><manualCapture>0</manualCapture>" +
  "<description>Order Order_12345</description>";
const middle =
  "<urlCallback>https://shop.example/notify?a=1&amp;b=2</urlCallback>" +
  "<merchantReference>Order_12345</merchantReference>" +
  `<freeData><item><key>transactionId</key><value>${transactionId}</value></item>`;
const foot = "</freeData></parameters></tns:generate></soap:Body></soap:Envelope>";

async function write(given: Parameters<typeof sampleTransaction>[0]) {
  const { parameters } = orderRequestOf(sampleTransaction({ transactionId, ...given }), settings);
  if (!parameters) throw new Error("the transaction does not fit");
  return await bothWrite(url, parameters);
}

type OrderParameters = Parameters<ReturnType<typeof createOrderWriter>>[0];

/** What the template gives, once it is what the package writes. */
async function bothWrite(address: string, parameters: OrderParameters) {
  const ours = createOrderWriter(address)(parameters);
  const writer = createSoapWriter("payment-v2", address);
  expect(ours).toEqual(await writer("generate", parameters));
  return ours;
}

test("an empty transaction is written exactly so", async () => {
  const message = await write({});
  expect(message).toEqual({
    url: "https://gateway.example/base/soap/payment-v2/generate",
    headers: {
      "Content-Type": "text/xml; charset=utf-8",
      SOAPAction: '"https://gateway.example/base/soap/payment-v2#generate"',
    },
    body: head + middle + foot,
  });
});

test("a full transaction is written exactly so", async () => {
  const { body } = await write(fullTransaction({ transactionId }));
  expect(body).toBe(
    `${head}<customerEmail>ada@shop.example</customerEmail>${middle}` +
      `<item><key>maskedPan</key><value>${MASKED_PAN}</value></item>` +
      "<item><key>authorisationNumber</key><value>136967</value></item>" +
      "<item><key>terminalId</key><value>29001234</value></item>" +
      "<item><key>receiptNumber</key><value>0042</value></item>" +
      "<item><key>cardName</key><value>VISA</value></item>" +
      "<item><key>custom_machine</key><value>north &amp; &lt;south&gt;</value></item>" +
      "<item><key>custom_cold</key><value>true</value></item>" +
      "<item><key>customData</key><value>{&quot;slot number&quot;:7}</value></item>" +
      "<item><key>cart</key><value>[{&quot;european_article_numbering&quot;:4711892728946," +
      "&quot;product_reference&quot;:&quot;NF-a1690&quot;,&quot;type&quot;:&quot;good&quot;," +
      "&quot;quantity&quot;:1,&quot;name&quot;:&quot;Tea&quot;,&quot;unit_price&quot;:8.99," +
      `&quot;discount&quot;:0,&quot;total_amount&quot;:8.99}]</value></item>${foot}`,
  );
});

test.each([
  "]]></value></item></freeData><amount>0.01</amount><freeData><item><key>a</key><value>x",
  "<![CDATA[x]]></value></item></freeData><amount>0.01</amount><freeData><item><value><![CDATA[]]>",
  "<![CDATA[plain]]>",
  "<![CDATA[",
  "&#38;&amp;\"'<>",
  "line\r\nline\ttab",
])("the custom value %j arrives as it is and adds no element", async (value) => {
  const { body } = await write({ customData: { a: value } });
  const { amount, freeData } = parametersOf(body);
  expect(amount).toBe("8.99");
  expect(freeData).toEqual({
    item: [
      { key: "transactionId", value: transactionId },
      { key: "custom_a", value },
    ],
  });
});

test("a slash at the end of the address changes nothing", async () => {
  const writer = createSoapWriter("payment-v2", `${url}/`);
  const message = await writer("generate", {});
  expect(message.url).toBe("https://gateway.example/base/soap/payment-v2/generate");
});

test("requests written at the same time do not mix", async () => {
  const writer = createSoapWriter("payment-v2", url);
  const bodies = await Promise.all(
    ["a", "b", "c"].map(async (currency) => (await writer("generate", { currency })).body),
  );
  expect(bodies.map((body) => parametersOf(body)["currency"])).toEqual(["a", "b", "c"]);
});

test("a service without a WSDL file is reported when it is loaded", async () => {
  await expect(createSoapWriter("no-such", url)("x", {})).rejects.toThrow(/no-such\.wsdl/);
});

const hostile = fc.oneof(
  fc.string({ unit: "binary" }).map(cleanText),
  fc
    .array(fc.constantFrom(..."&<>'\"\t\r\n", "<![CDATA[", "]]>", "{{value}}", "$&", "\u{1F4B3}"))
    .map((parts) => parts.join("")),
);

test("the template writes every field as the package does, hostile values included", async () => {
  const writer = createSoapWriter("payment-v2", url);
  const write = createOrderWriter(url);
  const names = Object.keys(orderFields);
  const fields = fc.record(Object.fromEntries(names.map((name) => [name, hostile])), {
    requiredKeys: [],
  });
  const freeData = fc.array(fc.record({ key: hostile, value: hostile }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fields, freeData, async (given, items) => {
      const inOrder = names.flatMap((name) =>
        given[name] === undefined ? [] : [[name, given[name]]],
      );
      const parameters = { ...Object.fromEntries(inOrder), freeData: { item: items } };
      expect(write(parameters)).toEqual(await writer("generate", parameters));
    }),
    { numRuns: 300, seed: 7 },
  );
});

test("an address with signs of XML leaves the envelope well-formed", () => {
  const write = createOrderWriter("https://g.example/a&b'c");
  const { body } = write({ wsLogin: "a", freeData: { item: [] } });
  expect(XMLValidator.validate(body)).toBe(true);
  expect(parametersOf(body)["wsLogin"]).toBe("a");
});

test("an element that the template lacks is no order", () => {
  const parameters = { urlLogo: "x", freeData: { item: [] } };
  expect(() => createOrderWriter(url)(parameters)).toThrow(/urlLogo/);
});

const vectors = process.env["CONFORMANCE_VECTORS"];

describe.skipIf(!vectors)("a recorded request of the same library (CONFORMANCE_VECTORS)", () => {
  test("sends the same envelope, action and content type as ours", async () => {
    const recorded = readFileSync(
      join(vectors ?? "", "gateway/soap/request-generate.node-soap.http"),
      "utf8",
    );
    const { body, headers } = await write({});
    expect(recorded).toContain(`Content-Type: ${headers["Content-Type"]}`);
    expect(recorded).toMatch(/SOAPAction: "\S+\/soap\/payment-v2#generate"/);
    const shape = (text: string) =>
      /<soap:Envelope.*?<parameters>/
        .exec(text)?.[0]
        .replace(/"https?:[^"]*payment-v2"/, '"namespace"');

    expect(shape(body)).toBe(shape(recorded));
  });
});
