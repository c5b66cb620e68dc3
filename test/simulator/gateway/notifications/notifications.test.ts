import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { sqlOf } from "../../../../src/shared/store/sqlite.ts";
import {
  mapiDocument,
  type ResultFields,
} from "../../../../src/simulator/gateway/notifications/mapi-document.ts";
import {
  type Attempt,
  NotificationStore,
  verdictOf,
} from "../../../../src/simulator/gateway/notifications/notification-store.ts";
import { migrations } from "../../../../src/simulator/gateway/rows.ts";
import { startGatewaySandbox } from "../../../../src/simulator/gateway/sandbox.ts";
import { childNamed, type XmlElement, xml } from "../../../../src/simulator/gateway/soap/xml.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { type Merchant, merchantForTest } from "../merchant-for-test.ts";
import {
  account,
  call,
  eventually,
  generate,
  haveVectors,
  LOGIN,
  PASSWORD,
  rootOf,
  sandboxForTest,
  vector,
} from "../sandbox-for-test.ts";

/** The result of a notification by name. */
function resultOf(document: string): Readonly<Record<string, string>> {
  const result = childNamed(rootOf(document), "result");
  return Object.fromEntries((result?.children ?? []).map(({ name, text }) => [name, text]));
}

const what = ({ received }: Merchant) =>
  received.map(({ xml: document }) => {
    const { operation, status } = resultOf(document);
    return `${operation} ${status}`;
  });

/** The strictest of the public verifiers: raw bytes, lower-case hex, nothing but `<mapi>`. */
function isSigned(document: string, secret = PASSWORD): boolean {
  const result = /<result>.*<\/result>/s.exec(document)?.[0] ?? "";
  const digest = createHash("md5").update(result).update(secret).digest("hex");
  return document.includes(`<mapi><mapiversion>1.0</mapiversion><md5content>${digest}<`);
}

test("a payment is notified twice, authorization then capture, signed", async () => {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({ autoPay: true });
  await generate(sandbox, {
    urlCallback: merchant.url,
    customerEmail: "customer@example.test",
    description: "a b",
    freeData:
      '<item><key>custom1</key><value>é &amp; &lt;x&gt; "q"</value></item>' +
      "<item><key>not a name</key><value>left out</value></item>" +
      "<item><key>empty</key><value/></item>",
  });
  await eventually(() => what(merchant)).toEqual(["authorization ok", "capture ok"]);
  const [{ contentType, body, xml: document } = { contentType: "", body: "", xml: "" }] =
    merchant.received;
  expect(contentType).toBe("application/x-www-form-urlencoded");
  expect(body).toMatch(/^xml=%3C%3Fxml\+version%3D/);
  expect(merchant.received.every(({ xml: text }) => isSigned(text))).toBe(true);
  expect(document).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n<mapi>.*<\/mapi>\n$/);
  expect(document.slice(document.indexOf("<mapi>"))).not.toMatch(/>\s+</);
  expect(document).toContain(
    '<merchantDatas><_aKey_custom1>é &amp; &lt;x&gt; "q"</_aKey_custom1>' +
      "<_aKey_empty/></merchantDatas>",
  );
  const [order] = sandbox.orders();
  expect(resultOf(document)).toMatchObject({
    date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    time: expect.stringMatching(/^\d\d:\d\d:\d\d UTC\+0000$/),
    origAmount: "19.99",
    origCurrency: "EUR",
    idForMerchant: "Order_12345",
    emailClient: "customer@example.test",
    transid: order?.transactionPublicId,
    is3ds: "No",
    paymentMethod: "VISA",
    returnCode: "",
  });
});

test("cancellation, refunds and chargebacks are notified too", async () => {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({ autoPay: true });
  const credentials = { wsLogin: LOGIN, wsPassword: PASSWORD };
  await generate(sandbox, { urlCallback: merchant.url, manualCapture: "1" });
  const first = sandbox.orders()[0]?.transactionPublicId ?? "";
  await call(sandbox, "transaction-v2", "cancel", { ...credentials, transactionPublicId: first });
  await generate(sandbox, { urlCallback: merchant.url });
  const second = sandbox.orders()[0]?.transactionPublicId ?? "";
  await eventually(() => merchant.received.length).toBe(4);
  const refund = { ...credentials, transactionPublicId: second, amount: "4" };
  await call(sandbox, "refund-v2", "card", refund);
  await eventually(() => merchant.received.length).toBe(5);
  await fetch(`${sandbox.url}/sandbox/orders/${second}/chargeback`, { method: "POST" });
  await eventually(() => merchant.received.length).toBe(6);
  expect(what(merchant)).toEqual([
    "authorization ok",
    "cancellation ok",
    "authorization ok",
    "capture ok",
    "refund ok",
    "reject ok",
  ]);
  expect(resultOf(merchant.received[4]?.xml ?? "")["refundedAmount"]).toBe("4.00");
});

test("a website with a salt signs with it, another one with the password", async () => {
  const merchant = await merchantForTest();
  const websites = [
    { id: 107, currency: "EUR", salt: "grain" },
    { id: 108, currency: "EUR" },
  ];
  const sandbox = await sandboxForTest({ autoPay: true, accounts: [{ ...account, websites }] });
  const signedWith = async (websiteId: string, secret: string) => {
    const before = merchant.received.length;
    await generate(sandbox, { urlCallback: merchant.url, websiteId });
    await eventually(() => merchant.received.length).toBe(before + 2);
    return merchant.received.slice(before).map(({ xml: text }) => isSigned(text, secret));
  };
  expect(await signedWith("107", "grain")).toEqual([true, true]);
  expect(await signedWith("107", PASSWORD)).toEqual([false, false]);
  expect(await signedWith("108", PASSWORD)).toEqual([true, true]);
});

test("amounts have two decimals also in currencies without any", async () => {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({
    autoPay: true,
    accounts: [{ ...account, websites: [{ id: 107, currency: "JPY" }] }],
  });
  await generate(sandbox, { urlCallback: merchant.url, currency: "JPY", amount: "400" });
  await eventually(() => merchant.received.length).toBe(2);
  expect(resultOf(merchant.received[0]?.xml ?? "")["origAmount"]).toBe("400.00");
});

test("a 5xx, a cut connection and silence are retried with growing pauses", async () => {
  const clock = new TestClock();
  const merchant = await merchantForTest();
  merchant.answers(500, "reset", "hang", 200);
  const sandbox = await sandboxForTest({ autoPay: true, clock });
  await generate(sandbox, { urlCallback: merchant.url, manualCapture: "1" });
  const delivery = async () => {
    const response = await fetch(`${sandbox.url}/sandbox/notifications`);
    const list = (await response.json()) as { state: string; attempts: number }[];
    return list.map(({ state, attempts }) => `${state} ${attempts}`);
  };
  await eventually(delivery).toEqual(["waiting 1"]);
  await eventually(() => clock.running).toEqual(["next notification"]);
  await clock.advance(1_999);
  expect(merchant.received).toHaveLength(1);
  await clock.advance(1);
  await eventually(delivery).toEqual(["waiting 2"]);
  await clock.advance(10_000);
  await eventually(() => merchant.received.length).toBe(3);
  await clock.advance(20_000);
  await eventually(delivery).toEqual(["waiting 3"]);
  await eventually(() => clock.running).toEqual(["next notification"]);
  await clock.advance(30_000);
  await eventually(delivery).toEqual(["delivered 4"]);
  expect(new Set(merchant.received.map(({ body }) => body)).size).toBe(1);
});

test("a notification that waits for its next attempt is sent at once on request", async () => {
  const merchant = await merchantForTest();
  merchant.answers(500, 500, 200);
  const sandbox = await sandboxForTest({ autoPay: true, clock: new TestClock() });
  await generate(sandbox, { urlCallback: merchant.url, manualCapture: "1" });
  const states = async (method: "GET" | "POST") => {
    const response = await fetch(`${sandbox.url}/sandbox/notifications`, { method });
    const list = (await response.json()) as { state: string; attempts: number }[];
    return list.map(({ state, attempts }) => `${state} ${attempts}`);
  };
  await eventually(() => states("GET")).toEqual(["waiting 1"]);
  await eventually(() => states("POST")).toEqual(["waiting 2"]);
  await eventually(() => states("POST")).toEqual(["delivered 3"]);
  await states("POST");
  expect(merchant.received).toHaveLength(3);
});

test("a merchant that never answers does not hold up the others", async () => {
  const [stuck, quick] = [await merchantForTest(), await merchantForTest()];
  stuck.answers("hang");
  const sandbox = await sandboxForTest({ autoPay: true });
  await generate(sandbox, { urlCallback: stuck.url });
  await eventually(() => stuck.received.length).toBe(1);
  await generate(sandbox, { urlCallback: quick.url });
  await eventually(() => what(quick)).toEqual(["authorization ok", "capture ok"]);
  expect(stuck.received).toHaveLength(1);
});

/** Returns what becomes of a notification by the verdict of its last attempt of so many. */
function after(verdict: Attempt["verdict"], attempts: number) {
  const database = new DatabaseSync(":memory:", { enableForeignKeyConstraints: false });
  for (const migration of migrations) database.exec(sqlOf(migration));
  const clock = new TestClock();
  const store = new NotificationStore(database, clock);
  const texts = { subject: "", url: "", contentType: "", body: "", signature: "" };
  store.add({ orderId: 1, ...texts, dueMs: clock.now() });
  for (let earlier = 1; earlier <= attempts; earlier++) {
    const answer = earlier === attempts ? verdict : "again";
    for (const one of store.latest(1)) store.recordAttempt(one, { verdict: answer, answer: "" });
  }
  const [last] = store.latest(1);
  const isWaiting = last?.state === "waiting";
  return { state: last?.state, pauseMs: isWaiting ? last.dueMs - clock.now() : undefined };
}

test("a notification refused otherwise is not retried, and the schedule ends", () => {
  expect([403, 302, 499, 0].map(verdictOf)).toEqual(["refused", "refused", "refused", "refused"]);
  expect([200, 204, 299].map(verdictOf)).toEqual(["taken", "taken", "taken"]);
  expect([500, 503].map(verdictOf)).toEqual(["again", "again"]);
  expect(after("refused", 1).state).toBe("refused");
  expect(after("taken", 1).state).toBe("delivered");
  const pauses = Array.from({ length: 8 }, (_, i) => after("again", i + 1).pauseMs);
  expect(pauses.at(-1)).toBeUndefined();
  expect(pauses.slice(0, -1)).toEqual(
    pauses.slice(0, -1).toSorted((a, b) => Number(a) - Number(b)),
  );
  expect([7, 8].map((attempts) => after("again", attempts).state)).toEqual(["waiting", "given-up"]);
});

test("a notification that falls due right after an early timer is sent", async () => {
  const clock = new TestClock();
  const aheadMs: number[] = [];
  const steps = {
    now: () => clock.now() - (aheadMs.pop() ?? 0),
    monotonicMs: () => clock.monotonicMs(),
    startTimer: clock.startTimer.bind(clock),
  };
  const merchant = await merchantForTest();
  merchant.answers(500, 200);
  const sandbox = await sandboxForTest({ autoPay: true, clock: steps });
  await generate(sandbox, { urlCallback: merchant.url, manualCapture: "1" });
  await eventually(() => clock.running).toEqual(["next notification"]);
  aheadMs.push(1);
  await clock.advance(2_000);
  await clock.advance(1);
  await eventually(() => merchant.received.length).toBe(2);
});

test("an undelivered notification is sent after a restart", async () => {
  const merchant = await merchantForTest();
  merchant.answers(503);
  const clock = new TestClock();
  const options = {
    accounts: [account],
    database: `${temporaryFolder()}/orders.db`,
    autoPay: true,
    clock,
  };
  const first = await startGatewaySandbox(options);
  await generate(first, { urlCallback: merchant.url, manualCapture: "1" });
  await eventually(() => clock.running).toEqual(["next notification"]);
  await first.close();
  expect(clock.running).toEqual([]);
  merchant.answers(200);
  await clock.advance(2_000);
  await sandboxForTest(options);
  await eventually(() => what(merchant)).toEqual(["authorization ok", "authorization ok"]);
});

describe("notification faults:", () => {
  const cases = [
    ["notification-twice", ["authorization", "authorization", "capture", "capture"], true],
    ["notification-reversed", ["capture", "authorization"], true],
    ["notification-bad-digest", ["authorization", "capture"], false],
  ] as const;
  for (const [kind, expected, signed] of cases) {
    test(kind, async () => {
      const merchant = await merchantForTest();
      const sandbox = await sandboxForTest({ autoPay: true, faults: [{ kind, times: 1 }] });
      await generate(sandbox, { urlCallback: merchant.url });
      await eventually(() => what(merchant)).toEqual(expected.map((type) => `${type} ok`));
      expect(merchant.received.map(({ xml: text }) => isSigned(text))).toEqual(
        expected.map(() => signed),
      );
      await generate(sandbox, { urlCallback: merchant.url });
      await eventually(() => merchant.received.length).toBe(expected.length + 2);
      expect(what(merchant).slice(-2)).toEqual(["authorization ok", "capture ok"]);
    });
  }

  test("notification-delayed", async () => {
    const clock = new TestClock();
    const merchant = await merchantForTest();
    const sandbox = await sandboxForTest({
      autoPay: true,
      clock,
      faults: [{ kind: "notification-delayed", delayMs: 60_000 }],
    });
    await generate(sandbox, { urlCallback: merchant.url, manualCapture: "1" });
    await eventually(() => clock.running).toEqual(["next notification"]);
    expect(merchant.received).toEqual([]);
    await clock.advance(60_000);
    await eventually(() => what(merchant)).toEqual(["authorization ok"]);
  });

  test("notification-before-answer", async () => {
    const merchant = await merchantForTest();
    const sandbox = await sandboxForTest({
      autoPay: true,
      faults: [{ kind: "notification-before-answer" }],
    });
    merchant.answers("hang", 200);
    const answered = generate(sandbox, { urlCallback: merchant.url, manualCapture: "1" });
    await eventually(() => merchant.received.length).toBe(1);
    expect(await Promise.race([answered, fetch(sandbox.url).then(() => "still waiting")])).toBe(
      "still waiting",
    );
    await sandbox.close();
    await expect(answered).rejects.toThrow();
  });
});

describe("the fraud event", () => {
  const withFraud = (url: string, signing: object = { passphrase: "whisper" }) => [
    { ...account, websites: [{ id: 107, currency: "EUR", fraudUrl: url, ...signing }] },
  ];

  test.each([
    ["with a passphrase", { passphrase: "whisper" }, "whisper?"],
    ["without a passphrase", {}, "?"],
  ])("is signed with another passphrase by a fault, %s", async (_, signing, secret) => {
    const merchant = await merchantForTest();
    const accounts = withFraud(merchant.url, signing);
    const sandbox = await sandboxForTest({ autoPay: true, accounts });
    await generate(sandbox, {});
    sandbox.addFault({ kind: "notification-bad-digest" });
    const id = sandbox.orders()[0]?.transactionPublicId;
    await fetch(`${sandbox.url}/sandbox/orders/${id}/fraud`, { method: "POST" });
    await eventually(() => merchant.received.length).toBe(1);
    const { body, signature } = merchant.received[0] ?? {};
    expect(signature).toBe(createHash("sha256").update(`${body}${secret}`).digest("hex"));
  });

  test("is posted as JSON with a signature of body and passphrase", async () => {
    const merchant = await merchantForTest();
    const sandbox = await sandboxForTest({ autoPay: true, accounts: withFraud(merchant.url) });
    await generate(sandbox, { urlCallback: merchant.url });
    await eventually(() => merchant.received.length).toBe(2);
    const id = sandbox.orders()[0]?.transactionPublicId;
    const reported = await fetch(`${sandbox.url}/sandbox/orders/${id}/fraud`, { method: "POST" });
    expect(reported.status).toBe(200);
    await eventually(() => merchant.received.length).toBe(3);
    const { contentType, body, signature } = merchant.received[2] ?? {};
    const event = JSON.parse(body ?? "");
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    expect(contentType).toBe("application/json");
    expect(signature).toBe(createHash("sha256").update(`${body}whisper`).digest("hex"));
    expect(event).toMatchObject({
      event_key: "operation.fraud_reported_by_acquirer",
      sent_date: iso,
      data: {
        fraud_reported_by_acquirer: true,
        operations: [
          {
            type: "CAPTURE",
            status: "COMPLETED",
            amount: "19.99",
            date_created: iso,
            date_updated: iso,
            date_fraud_by_acquirer: iso,
            currency: "EUR",
            decimals: 2,
          },
        ],
      },
    });
  });

  test("needs a capture", async () => {
    const merchant = await merchantForTest();
    const sandbox = await sandboxForTest({ accounts: withFraud(merchant.url) });
    await generate(sandbox);
    const id = sandbox.orders()[0]?.transactionPublicId;
    const reported = await fetch(`${sandbox.url}/sandbox/orders/${id}/fraud`, { method: "POST" });
    expect(reported.status).toBe(409);
    expect(merchant.received).toEqual([]);
  });
});

describe.runIf(haveVectors)("signed documents of the public samples are written again:", () => {
  const files = ["01-plain", "03-non-ascii-utf8", "04-escaped-amp-lt-gt"];
  for (const file of files) {
    test(file, () => {
      const document = vector(`notification/${file}.xml`) ?? "";
      const fields = (childNamed(rootOf(document), "result")?.children ?? []).map(fieldOf);
      expect(mapiDocument(fields, PASSWORD)).toBe(document);
    });
  }

  test("08 is what signing without password gives, ours is that of 01", () => {
    const plain = childNamed(rootOf(vector("notification/01-plain.xml") ?? ""), "result");
    const fields = (plain?.children ?? []).map(fieldOf);
    expect(mapiDocument(fields, "")).toBe(vector("notification/08-digest-without-password.xml"));
  });
});

test("a result that is parsed and written again has the bytes that were signed", async () => {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({ autoPay: true });
  await generate(sandbox, {
    urlCallback: merchant.url,
    merchantReference: "&lt;&amp;&gt; \"é€\" 'x'&#13;&#10;",
  });
  await eventually(() => merchant.received.length).toBe(2);
  const document = merchant.received[0]?.xml ?? "";
  const again = (element: XmlElement): string =>
    xml(element.name, element.children.length > 0 ? element.children.map(again) : element.text);
  const result = childNamed(rootOf(document), "result");
  expect(result && again(result)).toBe(/<result>.*<\/result>/s.exec(document)?.[0]);
  expect(document).not.toMatch(/\r|&#|&quot;|&apos;/);
});

function fieldOf(element: XmlElement): ResultFields[number] {
  if (element.name !== "merchantDatas") return [element.name, element.text];
  return [
    element.name,
    element.children.map(({ name, text }) => ({ key: name.slice("_aKey_".length), value: text })),
  ];
}
