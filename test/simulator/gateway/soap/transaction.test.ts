import { createClientAsync } from "soap";
import { describe, expect, test } from "vitest";
import type { GatewaySandbox } from "../sandbox-for-test.ts";
import {
  account,
  call,
  generate,
  haveVectors,
  LOGIN,
  PASSWORD,
  post,
  sandboxForTest,
  vector,
} from "../sandbox-for-test.ts";

const credentials = { wsLogin: LOGIN, wsPassword: PASSWORD };

type Changes = Readonly<Record<string, string | undefined>>;

const confirm = (sandbox: GatewaySandbox, changes: Changes = {}) =>
  call(sandbox, "transaction-v2", "confirm", { ...credentials, ...changes });
const cancel = (sandbox: GatewaySandbox, changes: Changes = {}) =>
  call(sandbox, "transaction-v2", "cancel", { ...credentials, ...changes });
const details = (sandbox: GatewaySandbox, changes: Changes = {}) =>
  call(sandbox, "transaction-v2", "getDetails", { ...credentials, ...changes });
const card = (sandbox: GatewaySandbox, changes: Changes = {}) =>
  call(sandbox, "refund-v2", "card", { ...credentials, ...changes });

/** An order that is paid at once: captured, or only authorized with manual capture. */
async function paid(manualCapture: "0" | "1", changes: Changes = {}) {
  const sandbox = await sandboxForTest({ autoPay: true });
  await generate(sandbox, { manualCapture, ...changes });
  const transactionPublicId = sandbox.orders()[0]?.transactionPublicId ?? "";
  return { sandbox, transactionPublicId };
}

const stateOf = (sandbox: GatewaySandbox) => sandbox.orders()[0]?.state;

test("without auto-pay generate leaves the order created", async () => {
  const sandbox = await sandboxForTest();
  await generate(sandbox);
  expect(stateOf(sandbox)).toBe("created");
});

test("manual capture 0 captures by itself, 1 waits for confirm", async () => {
  expect(stateOf((await paid("0")).sandbox)).toBe("captured");
  const { sandbox, transactionPublicId } = await paid("1");
  expect(stateOf(sandbox)).toBe("authorized");
  const { status, text } = await confirm(sandbox, { transactionPublicId });
  expect(status).toBe(200);
  expect(text).toContain(
    `<ns1:confirmResponse><confirmResult><transactionPublicId>${transactionPublicId}` +
      "</transactionPublicId><code>0</code><description>transaction has been confirmed" +
      "</description></confirmResult></ns1:confirmResponse>",
  );
  expect(sandbox.orders()[0]).toMatchObject({ state: "captured", capturedAmount: "19.99" });
});

test("confirm may take a smaller amount, once, and never more than authorized", async () => {
  const { sandbox, transactionPublicId } = await paid("1");
  const over = await confirm(sandbox, { transactionPublicId, amount: "20" });
  expect(over.result).toMatchObject({
    code: "3",
    description: expect.stringMatching(/^amount invalid: /),
  });
  const other = await confirm(sandbox, { transactionPublicId, amount: "5", currency: "USD" });
  expect(other.result["description"]).toMatch(/^currency invalid: /);
  expect(stateOf(sandbox)).toBe("authorized");
  const part = await confirm(sandbox, { transactionPublicId, amount: "5.5", currency: "EUR" });
  expect(part.result["code"]).toBe("0");
  expect(sandbox.orders()[0]).toMatchObject({ state: "captured", capturedAmount: "5.50" });
  const again = await confirm(sandbox, { transactionPublicId });
  expect(again.result).toMatchObject({ transactionPublicId, code: "20" });
});

test("an authorized transaction is cancelled, a captured one must be refunded", async () => {
  const { sandbox, transactionPublicId } = await paid("1");
  const { result } = await cancel(sandbox, { transactionPublicId });
  expect(result).toEqual({
    transactionPublicId,
    code: "0",
    description: "transaction has been cancelled",
  });
  expect(stateOf(sandbox)).toBe("cancelled");
  expect((await confirm(sandbox, { transactionPublicId })).result["code"]).toBe("20");

  const captured = await paid("0");
  const refused = await cancel(captured.sandbox, {
    transactionPublicId: captured.transactionPublicId,
  });
  expect([refused.status, refused.result["code"]]).toEqual([200, "20"]);
  expect(refused.result["description"]).toContain("refund it instead");
  expect(stateOf(captured.sandbox)).toBe("captured");
});

test("a refund gives back all or parts, never more than was captured", async () => {
  const { sandbox, transactionPublicId } = await paid("0");
  const part = await card(sandbox, { websiteId: "107", transactionPublicId, amount: "9.99" });
  expect(part.text).toContain(
    "<cardResult><code>0</code><description>Refund to credit card request for transaction " +
      `${transactionPublicId} has been sent !</description><currency>EUR</currency>` +
      `<amount>9.99</amount><transactionPublicId>${transactionPublicId}</transactionPublicId>`,
  );
  expect(sandbox.orders()[0]).toMatchObject({ state: "captured", refundedAmount: "9.99" });
  const over = await card(sandbox, { transactionPublicId, amount: "10.01" });
  expect(over.result["description"]).toMatch(/^amount invalid: /);
  const rest = await card(sandbox, { transactionPublicId });
  expect(rest.result).toMatchObject({ code: "0", amount: "10" });
  expect(sandbox.orders()[0]).toMatchObject({ state: "refunded", refundedAmount: "19.99" });
  const none = await card(sandbox, { transactionPublicId });
  expect(none.result["code"]).toBe("20");
  expect(none.result["description"]).toContain("is not refundable to card");
});

test("an order that was not paid can be neither confirmed, cancelled nor refunded", async () => {
  const sandbox = await sandboxForTest();
  await generate(sandbox);
  const transactionPublicId = sandbox.orders()[0]?.transactionPublicId;
  for (const operation of [confirm, cancel, card]) {
    expect((await operation(sandbox, { transactionPublicId })).result["code"]).toBe("20");
  }
  expect(stateOf(sandbox)).toBe("created");
});

test("getDetails answers amount, currency and status", async () => {
  const { sandbox, transactionPublicId } = await paid("0");
  expect((await details(sandbox, { transactionPublicId })).result).toEqual({
    transactionPublicId,
    transactionStatus: "captured",
    amount: "19.99",
    currency: "EUR",
    code: "0",
    description: "N/A",
  });
});

test("a merchant reference stands for the newest transaction that has it", async () => {
  const { sandbox } = await paid("1");
  await generate(sandbox, { manualCapture: "1" });
  const { result } = await confirm(sandbox, { merchantReference: "Order_12345" });
  expect(result["transactionPublicId"]).toBe(sandbox.orders()[0]?.transactionPublicId);
  expect(sandbox.orders().map(({ state }) => state)).toEqual(["captured", "authorized"]);
});

describe("every operation refuses", () => {
  const all = { confirm, cancel, details, card };
  for (const [name, operation] of Object.entries(all)) {
    test(`wrong parameters and other merchants' transactions: ${name}`, async () => {
      const sandbox = await sandboxForTest({
        autoPay: true,
        accounts: [
          account,
          { login: "other", password: "secret", websites: [{ id: 5, currency: "EUR" }] },
        ],
      });
      await generate(sandbox);
      const transactionPublicId = sandbox.orders()[0]?.transactionPublicId;
      const bad = await operation(sandbox, { transactionPublicId, wsPassword: "x" });
      expect(bad.result).toMatchObject({ transactionPublicId, code: "1" });
      expect(bad.result["description"]).toBe(`Bad password for login '${LOGIN}'`);
      const missing = await operation(sandbox, {});
      expect([missing.status, missing.result["code"]]).toEqual([500, "3"]);
      expect(missing.result["description"]).toContain("transactionPublicId invalid");
      const unknown = await operation(sandbox, { transactionPublicId, colour: "red" });
      expect([unknown.status, unknown.result["code"]]).toEqual([500, "3"]);
      const long = await operation(sandbox, { transactionPublicId: "A".repeat(33) });
      expect(long.result["description"]).toMatch(/^transactionPublicId invalid: 33 characters/);
      const nobody = await operation(sandbox, { transactionPublicId: "0123456789ABCDEF" });
      const foreign = await operation(sandbox, {
        transactionPublicId,
        wsLogin: "other",
        wsPassword: "secret",
      });
      for (const { result } of [nobody, foreign]) {
        expect(result["description"]).toBe("transactionPublicId invalid: no such transaction");
      }
      expect(stateOf(sandbox)).toBe("captured");
    });
  }
});

test("another website than the transaction's is refused", async () => {
  const { sandbox, transactionPublicId } = await paid("0");
  const { result } = await card(sandbox, { transactionPublicId, websiteId: "108" });
  expect(result["description"]).toMatch(/^websiteId invalid: /);
});

test("a fault strikes only the operation it names", async () => {
  const { sandbox, transactionPublicId } = await paid("1");
  sandbox.addFault({ kind: "error-500-empty", operation: "confirm", commit: true, times: 1 });
  expect((await details(sandbox, { transactionPublicId })).result["code"]).toBe("0");
  expect((await confirm(sandbox, { transactionPublicId })).status).toBe(500);
  expect(stateOf(sandbox)).toBe("captured");
});

test("a client library drives confirm, cancel, getDetails and refund from the WSDLs", async () => {
  const { sandbox, transactionPublicId } = await paid("1");
  const parameters = { ...credentials, transactionPublicId };
  const client = await createClientAsync(`${sandbox.url}/soap/transaction-v2?wsdl`, {
    disableCache: true,
  });
  const [{ confirmResult }] = await client["confirmAsync"]({ parameters });
  expect(confirmResult.code).toBe(0);
  const [{ cancelResult }] = await client["cancelAsync"]({ parameters });
  expect(cancelResult.code).toBe(20);
  const [{ getDetailsResult }] = await client["getDetailsAsync"]({ parameters });
  expect(getDetailsResult).toMatchObject({ transactionStatus: "captured", amount: 19.99 });
  const refunds = await createClientAsync(`${sandbox.url}/soap/refund-v2?wsdl`, {
    disableCache: true,
  });
  const [{ cardResult }] = await refunds["cardAsync"]({
    parameters: { ...parameters, amount: 5, websiteId: 107 },
  });
  expect(cardResult).toMatchObject({ code: 0, amount: 5, currency: "EUR" });
});

describe.runIf(haveVectors)("recorded requests are answered for a transaction of ours:", () => {
  const recorded = [
    ["request-confirm.zeep.http", "1", "captured"],
    ["request-cancel.node-soap.http", "1", "cancelled"],
    ["request-card.zeep.http", "0", "refunded"],
    ["request-card-documented.xml", "0", "refunded"],
  ] as const;
  for (const [file, manualCapture, state] of recorded) {
    test(file, async () => {
      const sandbox = await sandboxForTest({
        autoPay: true,
        accounts: [account, { ...account, login: "4f8x3e8xfd4ex76f1ex27c6xfefdb3e5" }],
      });
      const documented = file.endsWith(".xml");
      if (documented) await generate(sandbox, { manualCapture, wsLogin: DOCUMENTED_LOGIN });
      else await generate(sandbox, { manualCapture });
      const id = sandbox.orders()[0]?.transactionPublicId ?? "";
      const text = vector(`soap/${file}`) ?? "";
      const body = (documented ? text : text.replace(/^.*?\r?\n\r?\n/s, ""))
        .replace(/5CF68C1301DC7655|51X6F4C37X253/, id)
        .replace("2x0c409xc4254x819bfx246d6x02d1x2", PASSWORD);
      const service = /\/soap\/([a-z]+-v2)/.exec(text)?.[1];
      const { status, result, text: answer } = await post(`${sandbox.url}/soap/${service}`, body);
      expect([status, result["code"], result["transactionPublicId"]]).toEqual([200, "0", id]);
      expect(answer).toContain(/xmlns:(?:ns[01]|tns)="([^"]+)"/.exec(body)?.[1]);
      expect(stateOf(sandbox)).toBe(state);
    });
  }
});

const DOCUMENTED_LOGIN = "4f8x3e8xfd4ex76f1ex27c6xfefdb3e5";
