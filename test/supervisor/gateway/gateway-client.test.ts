import { expect, onTestFinished, test } from "vitest";
import { createLogger } from "../../../src/shared/process/logger.ts";
import { createGatewayClient } from "../../../src/supervisor/gateway/gateway-client.ts";
import { HttpTransport } from "../../../src/supervisor/gateway/http-transport.ts";
import type { GatewaySettings } from "../../../src/supervisor/gateway/order-request.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { gatewaySettings } from "../gateway-settings.ts";
import {
  accepted,
  type Behaviour,
  parametersOf,
  RecordingGateway,
  refusedCredentials,
  resultBody,
} from "../recording-gateway.ts";
import { fullTransaction, sampleTransaction } from "../sample-transaction.ts";

const signal = new AbortController().signal;

async function open(behaviour: Behaviour = accepted, given: Partial<GatewaySettings> = {}) {
  const server = await RecordingGateway.start();
  server.behave = () => behaviour;
  const settings = gatewaySettings(server.url, { GATEWAY_PWD: "Secret_1", ...given });
  const log = createLogger({ program: "test", level: "error" });
  const client = createGatewayClient(settings, new HttpTransport(new TestClock()), log);
  onTestFinished(() => client.close());
  return { server, client };
}

test("an order that is accepted is sent, and its payment page kept as a field", async () => {
  const { server, client } = await open();
  const transaction = fullTransaction();
  const { verdict, notes } = await client.generate(transaction, signal);
  expect(verdict).toMatchObject({ class: "sent", httpStatus: 200, code: 0, description: "N/A" });
  expect(verdict.fields.get("redirectUrl")).toMatch(/^https:\/\/pay\.gateway\.test\//);
  expect(notes).toEqual([]);
  expect(server.requests).toHaveLength(1);
});

test("the request goes to the documented address with the headers of SOAP 1.1", async () => {
  const { server, client } = await open();
  await client.generate(sampleTransaction(), signal);
  const [request] = server.requests;
  expect(request?.path).toBe("/soap/payment-v2/generate");
  expect(request?.headers).toMatchObject({
    "content-type": "text/xml; charset=utf-8",
    soapaction: `"${server.url}/soap/payment-v2#generate"`,
    accept: "text/xml",
    "accept-encoding": "identity",
    "user-agent": expect.stringMatching(/^unattended-terminal-connector\/\d/),
  });
});

test("characters outside ASCII arrive as UTF-8", async () => {
  const { server, client } = await open();
  await client.generate(sampleTransaction({ orderId: "Café 😀" }), signal);
  expect(parametersOf(server.requests[0]?.body ?? "")).toMatchObject({
    merchantReference: "Café 😀",
    description: "Order Café 😀",
  });
});

test("a refusal is reported with its code and text", async () => {
  const { client } = await open({ status: 500, body: resultBody(3, "amount invalid") });
  const { verdict } = await client.generate(sampleTransaction(), signal);
  expect(verdict).toMatchObject({ class: "order-refused", code: 3, description: "amount invalid" });
});

test("refused credentials are reported as refused credentials", async () => {
  const { client } = await open(refusedCredentials);
  const { verdict } = await client.generate(sampleTransaction(), signal);
  expect(verdict.class).toBe("credentials-refused");
});

test("the gateway's texts are kept without password, card number and line ends", async () => {
  const text = `no Secret_1\n for 4111111111111111 ${"x".repeat(500)}`;
  const { client } = await open({ status: 200, body: resultBody(3, text) });
  const { description } = (await client.generate(sampleTransaction(), signal)).verdict;
  expect(description).toMatch(/^no \[removed\] for 411111X{6}1111 x+$/);
  expect(description).toHaveLength(300);
});

test("a transaction with a value that fits no field is not sent at all", async () => {
  const { server, client } = await open();
  const { verdict } = await client.generate(sampleTransaction({ orderId: "a\u0000b" }), signal);
  expect(verdict).toMatchObject({
    class: "unsendable",
    description: expect.stringMatching(/^merchantReference has characters/),
  });
  expect(server.requests).toEqual([]);
});

test("a field that was left out of a sent order is noted", async () => {
  const { server, client } = await open();
  const reply = await client.generate(sampleTransaction({ customerEmail: "nobody" }), signal);
  expect(reply.verdict.class).toBe("sent");
  expect(reply.notes).toEqual(["customerEmail does not look like an address: left out"]);
  expect(parametersOf(server.requests[0]?.body ?? "")).not.toHaveProperty("customerEmail");
});

test("a gateway URL with a path is called below that path", async () => {
  const { server } = await open();
  const below = await open(accepted, { GATEWAY_URL: `${server.url}/stage/` });
  await below.client.generate(sampleTransaction(), signal);
  expect(server.requests[0]?.path).toBe("/stage/soap/payment-v2/generate");
});

test.each([
  ["login and password", {}, { authorization: "Basic bG9naW46U2VjcmV0XzE=" }],
  ["a key", { GATEWAY_API_KEY: "key" }, { "x-api-key": "key" }],
])(
  "the lookup is made with %s, in the plural and then in the singular",
  async (_what, given, sent) => {
    const { server, client } = await open({ status: 404, body: "<html/>" }, given);
    await client.lookUp("5CF62325CB217655", signal);
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/v3/transactions/5CF62325CB217655",
      "/v3/transaction/5CF62325CB217655",
    ]);
    for (const { headers, method } of server.requests) {
      const { authorization, "x-api-key": key } = headers;
      expect([method, { authorization, "x-api-key": key }]).toEqual(["GET", sent]);
    }
  },
);

test("the texts of a lookup are kept without password and card number", async () => {
  const message = `no Secret_1\n for 4111111111111111 ${"x".repeat(500)}`;
  const { client } = await open({ status: 401, body: JSON.stringify({ code: 1, message }) });
  const answer = await client.lookUp("5CF62325CB217655", signal);
  const { description } = answer;
  const [text, advice] = description.split(": the gateway refuses");
  expect(text).toMatch(/^HTTP 401: no \[removed\] for 411111X{6}1111 x+$/);
  expect(text).toHaveLength(300);
  expect(advice).toMatch(/GATEWAY_API_KEY$/);
});
