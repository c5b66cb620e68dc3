import { describe, expect, test } from "vitest";
import {
  account,
  generate,
  haveVectors,
  LOGIN,
  PASSWORD,
  sandboxForTest,
  vector,
} from "../sandbox-for-test.ts";

const basic = (login: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`,
});
const good = basic(LOGIN, PASSWORD);

interface Displayed {
  readonly id: number;
  readonly operations: readonly object[];
  readonly order: object;
  readonly [name: string]: unknown;
}

async function paidSandbox() {
  const sandbox = await sandboxForTest({
    autoPay: true,
    accounts: [
      { ...account, apiKey: "key-of-the-first" },
      { login: "other", password: "secret", websites: [{ id: 5, currency: "EUR" }] },
    ],
  });
  await generate(sandbox);
  const publicId = sandbox.orders()[0]?.transactionPublicId ?? "";
  const get = (path: string, headers: Readonly<Record<string, string>> = good) =>
    fetch(`${sandbox.url}${path}`, { headers });
  const displayed = async (path: string) => (await (await get(path)).json()) as Displayed;
  return { sandbox, publicId, get, shown: displayed };
}

test("singular and plural address, number and public id show the same transaction", async () => {
  const { publicId, shown: displayed } = await paidSandbox();
  const transaction = await displayed(`/v3/transaction/${publicId}`);
  expect(transaction.id).toBeGreaterThan(2 ** 32);
  for (const id of [publicId, publicId.toLowerCase(), transaction.id]) {
    expect(await displayed(`/v3/transactions/${id}`)).toEqual(transaction);
    expect(await displayed(`/v3/transaction/${id}`)).toEqual(transaction);
  }
  expect(transaction).toMatchObject({
    merchant_order_id: "Order_12345",
    state: "completed",
    amount: "19.99",
    captured_amount: "19.99",
    currency: "EUR",
    decimals: 2,
    fraud_reported_by_acquirer: false,
    operations: [{ type: "CAPTURE", status: "COMPLETED", amount: "19.99" }],
  });
});

test("a reported fraud is seen in the lookup", async () => {
  const { sandbox, publicId, shown: displayed } = await paidSandbox();
  await fetch(`${sandbox.url}/sandbox/orders/${publicId}/fraud`, { method: "POST" });
  expect(await displayed(`/v3/transactions/${publicId}`)).toMatchObject({
    fraud_reported_by_acquirer: true,
    operations: [{ date_fraud_by_acquirer: expect.stringMatching(/\+00:00$/) }],
  });
});

test("an API key authenticates as well as login and password", async () => {
  const { publicId, get } = await paidSandbox();
  const path = `/v3/transaction/${publicId}`;
  expect((await get(path, { "x-api-key": "key-of-the-first" })).status).toBe(200);
  for (const headers of [
    {},
    { "x-api-key": "another" },
    basic(LOGIN, "wrong"),
    { authorization: "Bearer x" },
  ]) {
    const response = await get(path, headers as Record<string, string>);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toMatch(/^Basic /);
    expect(await response.json()).toEqual({
      code: 1_000_001,
      message: "Incorrect Credentials",
      description: null,
      details: null,
    });
  }
});

test("unknown transactions and those of other merchants are not found", async () => {
  const { publicId, get, shown: displayed } = await paidSandbox();
  const { id } = await displayed(`/v3/transaction/${publicId}`);
  for (const path of ["0", "999999999999999", id + 1, "..%2F", "x".repeat(90)]) {
    const response = await get(`/v3/transactions/${path}`);
    expect([path, response.status]).toEqual([path, 404]);
    expect(await response.json()).toMatchObject({ code: 3_000_002 });
  }
  expect((await get(`/v3/transaction/${publicId}`, basic("other", "secret"))).status).toBe(404);
});

test("collections and orders are looked up by the published addresses", async () => {
  const { publicId, get, shown: displayed } = await paidSandbox();
  const found = await displayed(`/v3/transactions/acquirerid/${publicId}`);
  expect(found["transactions"]).toHaveLength(1);
  expect((await displayed("/v3/transactions/arn/1"))["transactions"]).toEqual([]);
  expect((await get("/v3/transactions/colour/red")).status).toBe(400);
  expect(await displayed("/v3/order/Order_12345")).toMatchObject({ amount: "19.99" });
  expect((await get("/v3/order/none")).status).toBe(404);
});

describe.runIf(haveVectors)("the published field lists", () => {
  test("every required field is present, and no field is unknown", async () => {
    const fields = JSON.parse(vector("v3/transaction-fields.json") ?? "{}");
    const { publicId, shown: displayed } = await paidSandbox();
    const transaction = await displayed(`/v3/transaction/${publicId}`);
    expect(Object.keys(transaction)).toEqual(expect.arrayContaining(fields.required));
    expect(Object.keys(fields.types)).toEqual(expect.arrayContaining(Object.keys(transaction)));
    expect(Object.keys(transaction.operations[0] ?? {})).toEqual(
      expect.arrayContaining(fields.operation.required),
    );
    expect(Object.keys(transaction.order)).toEqual(expect.arrayContaining(fields.order.required));
    expect(fields.types.state).toContain(transaction["state"]);
    for (const [name, type] of Object.entries<string>(fields.types)) {
      const value = transaction[name];
      if (value === undefined || value === null) continue;
      if (type.startsWith("integer")) expect([name, Number.isInteger(value)]).toEqual([name, true]);
      if (type === "decimal string") expect([name, value]).toEqual([name, expect.any(String)]);
    }
  });

  test("the published fraud example has no field that ours lacks", async () => {
    const example = JSON.parse(vector("webhook/fraud-published-data.json") ?? "{}");
    const { sandbox, publicId, shown: displayed } = await paidSandbox();
    await fetch(`${sandbox.url}/sandbox/orders/${publicId}/fraud`, { method: "POST" });
    const ours = await displayed(`/v3/transaction/${publicId}`);
    expect(Object.keys(ours)).toEqual(expect.arrayContaining(Object.keys(example)));
    expect(Object.keys(ours.operations[0] ?? {})).toEqual(
      expect.arrayContaining(Object.keys(example.operations[0])),
    );
  });
});
