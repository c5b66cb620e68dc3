import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import type { Writable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { type NexoMessage, writePairs, writeRefusal } from "../../../../src/nexo/index.ts";
import type { Clock } from "../../../../src/shared/time.ts";
import { nothingKnown } from "../../../../src/tp-manager/attempts/attempt-event.ts";
import type { AttemptState } from "../../../../src/tp-manager/attempts/payment.ts";
import { advance } from "../../../../src/tp-manager/attempts/payment-machine.ts";
import { connectionProblem, withAdvice } from "../../../../src/tp-manager/terminal/nexo/advice.ts";
import { emptyReport, type ReversalOrder } from "../../../../src/tp-manager/terminal/terminal.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { fakeTerminal } from "./fake.ts";
import { order, paid, soon } from "./started.ts";

/* What the driver makes of answers that no simulated terminal gives. */

const card = "4111111111111111";
const secret = `${card} ${"long ".repeat(1_000)}`;
const own = { reference: "KTESTTEST7", command: "payment" } as const;
const sale: ReversalOrder = { ...order(), receiptNumber: "a.b", namedAt: "2026-01-01T12:00:00Z" };

const reversing: AttemptState = {
  phase: "reversing",
  sale: { report: emptyReport, by: "payment" },
  baseline: nothingKnown,
  last: null,
};

const missing = "At SaleToPOIRequest, field PaymentRequest: Missing";
const approval = {
  Response: { Result: "Success" },
  PaymentResult: { AmountsResp: { Currency: "EUR", AuthorizedAmount: 12 } },
};

const bodyFor = (name: string, body: object) => (asked: NexoMessage) => ({
  root: "SaleToPOIResponse" as const,
  header: { ...asked.header, MessageType: "Response" },
  name,
  body,
});

const failure = (ErrorCondition: string, pairs: Readonly<Record<string, string>> = {}) => ({
  Response: { Result: "Failure", ErrorCondition, AdditionalResponse: writePairs(pairs) },
});

const repeating = (name: string, body: object) =>
  bodyFor("TransactionStatusResponse", {
    Response: { Result: "Success" },
    MessageReference: { ServiceID: own.reference },
    RepeatedMessageResponse: {
      MessageHeader: { ServiceID: own.reference },
      RepeatedResponseMessageBody: { [name]: body },
    },
  });

describe("HTTP 400", () => {
  test.each([
    ["At SaleToPOIRequest, field PaymentRequest: Missing", "refused"],
    ["Nexo Service: crypto error (3)", "refused"],
    ["Did not receive a response from the POI.", "lost"],
    ["a long text with a card number", "lost", `The card ${secret}`],
  ])("with %s: a payment is %s", async (name, expected, error = name) => {
    const { driver } = await fakeTerminal(() => writeRefusal([error]));
    const { end } = await paid(driver);
    expect(end).toMatchObject({ end: expected, text: expect.stringContaining(error.slice(0, 8)) });
    // The terminal may have passed a reversal on before it could not protect its answer.
    const isRefused = expected === "refused" && !name.includes("crypto");
    expect((await driver.reverse(sale)).end).toBe(isRefused ? "refused" : "lost");
    expect(JSON.stringify(end)).not.toContain(card);
    expect(JSON.stringify(end).length).toBeLessThan(300);
  });

  test("with long errors, what to compare is not cut off", async () => {
    const errors = ["Nexo Service: crypto error (3)", `${card} ${"x".repeat(300)}`];
    const { driver } = await fakeTerminal(() => writeRefusal(errors));
    const { end } = await paid(driver);
    expect(end).toMatchObject({ text: expect.stringMatching(/x \(compare NEXO_KEY_.* key\)$/) });
    expect(JSON.stringify(end)).not.toContain(card);
  });

  test("about the key that comes late is no proof: it may be about the answer", async () => {
    let lateMs = 0;
    const monotonicMs = () => steppedClock.monotonicMs() + lateMs;
    const clock: Clock = { ...steppedClock, monotonicMs };
    const { driver } = await fakeTerminal(() => {
      lateMs = 3_000;
      return writeRefusal(["Nexo Service: crypto error (3)"]);
    }, clock);
    expect((await paid(driver)).end).toMatchObject({ end: "lost" });
  });
});

const huge = "x".repeat(1_048_577);

describe("what no terminal should answer", () => {
  test.each<[string, number, string]>([
    ["nothing", 204, ""],
    ["another address", 301, ""],
    ["not found", 404, "{}"],
    ["a fault", 500, '{"errors":["At toplevel: Missing"]}'],
    ["no service", 503, "busy"],
    ["errors as if all were well", 200, '{"errors":["At toplevel: Missing"]}'],
    ["the two letters of an abort", 200, "ok"],
    ["a page", 400, "<html>Bad Request</html>"],
    ["no errors", 400, '{"errors":[]}'],
    ["a deep text", 200, "[".repeat(100_000)],
    ["a text with a quote that never ends", 200, `"${'\\"'.repeat(200_000)}`],
    ["more than a message has", 200, huge],
    ["no JSON", 200, "Success"],
  ])("%s (status %d) leaves the payment lost", async (_what, status, text) => {
    const { driver } = await fakeTerminal(() => ({ status, text }));
    const { end, reports } = await paid(driver);
    expect([end.end, reports]).toEqual(["lost", []]);
  });

  /** A terminal whose approval has a changed header. */
  const changed = (change: object) =>
    fakeTerminal((asked) => {
      const right = bodyFor("PaymentResponse", approval)(asked);
      return { ...right, header: { ...right.header, ...change } } as NexoMessage;
    });

  test.each(["ServiceID", "SaleID", "POIID", "MessageCategory", "MessageType"])(
    "another or no %s in the header leaves the payment lost",
    async (name) => {
      for (const change of [{ [name]: "Other" }, { [name]: undefined }]) {
        const { driver } = await changed(change);
        const { end, reports } = await paid(driver);
        expect([end.end, reports]).toEqual(["lost", []]);
      }
    },
  );

  test("a POIID in small letters is the same", async () => {
    const { driver } = await changed({ POIID: "p400plus-275039202" });
    expect((await paid(driver)).end.end).toBe("completed");
  });
});

describe("a payment stays without a result", () => {
  const cancelled = { ...failure("Cancel"), PaymentResult: {} };
  const idOf = (TransactionID: string) => ({ POIData: { POITransactionID: { TransactionID } } });
  test.each<[string, object]>([
    ["a failure with a text of approval", failure("Cancel", { message: "APPROVED_CANCELLED" })],
    ["a failure with another one", failure("UnreachableHost", { message: "TX_APPROVED" })],
    ["a failure with a code of approval", failure("Refusal", { authCode: "123456" })],
    [
      "a failure with the member of one",
      { ...cancelled, PaymentResult: { PaymentAcquirerData: { ApprovalCode: "123456" } } },
    ],
    ["a failure with an amount", { ...cancelled, PaymentResult: approval.PaymentResult }],
    ["a cancel with the bank's reference", { ...cancelled, ...idOf("sim1.S1") }],
    [
      "a success with a reason of failure",
      { ...approval, Response: { Result: "Success", ErrorCondition: "Cancel" } },
    ],
  ])("after %s", async (_what, body) => {
    const { driver } = await fakeTerminal(bodyFor("PaymentResponse", body));
    const { end, report } = await paid(driver);
    expect([end.end, report?.resultCode]).toEqual(["completed", null]);
  });

  test.each<[string, object]>([
    ["a refusal with the bank's reference", { ...failure("Refusal"), ...idOf("sim1.S1") }],
    ["a cancel with the terminal's own id", { ...failure("Cancel"), ...idOf("sim1") }],
    [
      "a cancel with the amount 0",
      { ...cancelled, PaymentResult: { AmountsResp: { AuthorizedAmount: 0.0 } } },
    ],
  ])("but not after %s", async (_what, body) => {
    const { driver } = await fakeTerminal(bodyFor("PaymentResponse", body));
    expect((await paid(driver)).report).toMatchObject({ good: false, reason: expect.any(String) });
  });
});

describe("on the wire", () => {
  const head = "HTTP/1.1 200 OK\r\n";
  test.each<[string, (socket: Writable) => void]>([
    ["no byte", () => {}],
    ["a body that never ends", (to) => to.write(`${head}Content-Length: 9\r\n\r\n{`)],
    ["a body that is cut", (to) => to.end(`${head}Connection: close\r\n\r\n{"SaleToPOI`)],
    ["a head that never ends", (to) => to.write(head + "x: y\r\n".repeat(9_000))],
    ["two answers", (to) => to.write(`${head}Content-Length: 0\r\n\r\n`.repeat(2))],
    ["no HTTP", (to) => to.write("220 ready\r\n")],
    ["the end of the connection", (to) => to.destroy()],
  ])("%s leaves the payment lost", async (_what, write) => {
    const limit = { paymentLimitMs: 100 };
    const answer = ({ socket }: ServerResponse): void => void (socket && write(socket));
    const { driver } = await fakeTerminal(() => answer, steppedClock, limit);
    const { end, reports } = await paid(driver);
    expect([end.end, reports]).toEqual(["lost", []]);
    expect("text" in end && end.text).not.toMatch(/hang up|aborted/);
  });

  test.each<[string, (socket: Writable) => void]>([
    ["says nothing", () => {}],
    ["speaks in clear", (to) => to.write("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["hangs up", (to) => to.destroy()],
  ])("a port that %s gets no payment", async (_what, write) => {
    const server = createServer((socket) => write(socket.on("error", () => {}))).listen(0);
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const startTimer: Clock["startTimer"] = (name, ms, fire) =>
      steppedClock.startTimer(name, name === "tls connect" ? 100 : ms, fire);
    const address = { host: "127.0.0.1", port, roots: [], environment: "test" } as const;
    const { driver } = await fakeTerminal(
      () => "",
      { ...steppedClock, startTimer },
      {
        address: { ...address, serialNumber: "275039202" },
      },
    );
    expect((await paid(driver)).end).toMatchObject({ end: "not-sent", code: "line" });
  });

  test("a payment that runs when the connector stops is lost", async () => {
    const begun = Promise.withResolvers<void>();
    const { driver } = await fakeTerminal(() => () => begun.resolve());
    const paying = paid(driver);
    await begun.promise;
    await driver.close();
    expect((await paying).end).toMatchObject({ end: "lost" });
  });
});

describe("an abort", () => {
  test.each<[string, Parameters<typeof fakeTerminal>[0], object]>([
    ["status 204", () => ({ status: 204, text: "" }), { answer: "taken" }],
    ["status 500", () => ({ status: 500, text: "" }), { answer: "no-answer" }],
    ["errors", () => writeRefusal([missing]), { answer: "refused", text: missing }],
    ["Success", bodyFor("AbortResponse", { Response: { Result: "Success" } }), { answer: "taken" }],
    [
      "a failure",
      bodyFor("AbortResponse", failure("NotAllowed", { message: "too late" })),
      { answer: "refused", code: "NotAllowed", text: "too late" },
    ],
    ["another body", bodyFor("LoginResponse", {}), { answer: "no-answer" }],
  ])("that is answered with %s", async (_what, answer, expected) => {
    const { driver } = await fakeTerminal(answer);
    expect(await driver.abort(own)).toMatchObject(expected);
  });

  test("waits for no other request, may come twice, and ends no reversal", async () => {
    const held: ServerResponse[] = [];
    const { driver, asked } = await fakeTerminal(({ name }) =>
      name === "AbortRequest" ? { status: 200, text: "" } : (response) => void held.push(response),
    );
    const until = async (count: number): Promise<void> => {
      while (held.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    const checking = driver.check(soon()).catch(() => undefined);
    await until(1);
    expect(await driver.abort(own)).toEqual({ answer: "taken" });
    held[0]?.destroy();
    await checking;
    const paying = paid(driver);
    await until(2);
    for (const _ of [1, 2]) expect(await driver.cancel()).toEqual({ answer: "taken" });
    held[1]?.destroy();
    expect((await paying).end.end).toBe("lost");
    const reversing = driver.reverse(sale);
    await until(3);
    expect(await driver.cancel()).toEqual({ answer: "nothing-running" });
    held[2]?.destroy();
    expect((await reversing).end).toBe("lost");
    expect(asked.filter(({ name }) => name === "AbortRequest")).toHaveLength(3);
  });
});

describe("a question by id", () => {
  test.each([
    ["Busy", "busy"],
    ["DeviceOut", "no-answer"],
    ["MessageFormat", "no-answer"],
    ["no known condition", "no-answer", secret],
  ])("that fails with %s is %s", async (name, reason, condition = name) => {
    const answer = bodyFor("TransactionStatusResponse", failure(condition));
    const { driver } = await fakeTerminal(answer);
    const error = await driver.recall(own, soon()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason });
    expect(String(error)).not.toContain(card);
    expect(String(error).length).toBeLessThan(300);
  });

  test("that the terminal does not understand says nothing, and blocks nothing", async () => {
    const error = "At SaleToPOIRequest, field TransactionStatusRequest: Unexpected";
    const { driver } = await fakeTerminal(() => writeRefusal([error]));
    expect(await driver.recall(own, soon())).toEqual({ kind: "not-told", why: error });
  });

  test("names the register as it was when the command was sent", async () => {
    const { driver, asked } = await fakeTerminal(
      bodyFor("TransactionStatusResponse", failure("InProgress")),
    );
    expect(await driver.recall({ ...own, registerId: "before" }, soon())).toEqual({
      kind: "running",
    });
    expect(asked[0]).toMatchObject({
      header: { SaleID: "kiosk" },
      body: { MessageReference: { SaleID: "before", ServiceID: own.reference } },
    });
  });

  test("that repeats a payment with our question as its only name is not answered", async () => {
    const named = { SaleTransactionID: { TransactionID: own.reference } };
    for (const [SaleData, kind] of [
      [{}, "not-told"],
      [{ SaleData: named }, "answered"],
    ] as const) {
      const { driver } = await fakeTerminal(
        bodyFor("TransactionStatusResponse", {
          Response: { Result: "Success" },
          MessageReference: { ServiceID: own.reference },
          RepeatedMessageResponse: {
            RepeatedResponseMessageBody: { PaymentResponse: { ...approval, ...SaleData } },
          },
        }),
      );
      expect((await driver.recall(own, soon())).kind).toBe(kind);
    }
  });

  test.each([
    ["Busy with its own id", "running", failure("Busy", { serviceId: own.reference })],
    ["Busy with another id", "answered", failure("Busy", { serviceId: "KOTHER0001" })],
    ["InProgress", "running", failure("InProgress")],
    ["NotFound", "not-found", failure("NotFound")],
  ])("that repeats %s says %s", async (_what, kind, body) => {
    const { driver } = await fakeTerminal(repeating("PaymentResponse", body));
    expect((await driver.recall(own, soon())).kind).toBe(kind);
  });
});

describe("a reversal", () => {
  test.each([
    ["UnreachableHost", "lost", null],
    ["Communication timeout", "lost", null],
    ["NotAllowed", "lost", null],
    ["Busy", "refused", "Busy"],
    ["MessageFormat", "refused", "MessageFormat"],
  ])("that fails with %s ends as %s", async (condition, expected, resultCode) => {
    const body = failure(condition, { message: "it failed" });
    const { driver } = await fakeTerminal((asked, number) =>
      (number === 0 ? bodyFor : repeating)("ReversalResponse", body)(asked),
    );
    const end = await driver.reverse(sale);
    expect(end).toMatchObject({ end: expected, text: "it failed" });
    // Only what was not begun leaves the order charged: the bank may have carried out the rest.
    const { phase } = advance(reversing, { input: "end", end });
    expect(phase).toBe(expected === "lost" ? "reversal-in-doubt" : "charged");
    const remembered = await driver.recall({ ...own, command: "reversal" }, soon());
    expect(remembered).toMatchObject({ report: { good: false, resultCode } });
  });
});

test("no text of a terminal is stored with a card number, or as long as it came", async () => {
  const names = ["message", "authCode", "tid", "AID", "pspReference"];
  const pairs = writePairs(Object.fromEntries(names.map((name) => [name, secret])));
  const body = {
    Response: { Result: "Success", AdditionalResponse: pairs },
    POIData: { POITransactionID: { TransactionID: card, TimeStamp: secret } },
    PaymentResult: {
      AmountsResp: { Currency: "EUR", AuthorizedAmount: 12 },
      PaymentAcquirerData: { MerchantID: secret },
      PaymentInstrumentData: {
        CardData: { PaymentBrand: secret, MaskedPan: card, EntryMode: [secret] },
      },
    },
  };
  const failed = { Response: { ...body.Response, Result: "Failure", ErrorCondition: secret } };
  for (const answer of [body, failed]) {
    const { driver } = await fakeTerminal(bodyFor("PaymentResponse", answer));
    const { end, report } = await paid(driver);
    expect(report).toMatchObject({ good: answer === body, receiptNumber: null });
    const stored = JSON.stringify({ end, report });
    expect(stored).not.toContain(card);
    expect(stored.length).toBeLessThan(5_000);
  }
});

test.each<[string, object]>([
  ["without the bank", { PaymentResult: { ...approval.PaymentResult, OnlineFlag: "False" } }],
  [
    "without the bank",
    { Response: { Result: "Success", AdditionalResponse: writePairs({ offline: "true" }) } },
  ],
  ["with a signature", { PaymentReceipt: [{ RequiredSignatureFlag: true }] }],
])("an approval %s is a charge, and the timeline and the log say so", async (caution, change) => {
  const { driver, lines } = await fakeTerminal(
    bodyFor("PaymentResponse", { ...approval, ...change }),
  );
  const { report } = await paid(driver);
  expect(report).toMatchObject({ good: true, resultText: `approved, ${caution}` });
  expect(report?.fallbackTicket).not.toContain(caution);
  expect(JSON.stringify(lines)).toContain(caution);
});

test.each([
  ["4r7i001557325515012.8815573255107661", "stays as it came"],
  ["", "is none, and no reversal is sent"],
])("the id %j of a transaction %s", async (TransactionID) => {
  const id = { TransactionID };
  const stamp = { TimeStamp: "2019-05-08T14:25:15.000Z" };
  const answer = bodyFor("PaymentResponse", {
    Response: { Result: "Success" },
    POIData: { POITransactionID: { ...id, ...stamp } },
    PaymentResult: { AmountsResp: { Currency: "EUR", AuthorizedAmount: 12 } },
  });
  const { driver } = await fakeTerminal(answer);
  const { report } = await paid(driver);
  expect(report?.receiptNumber).toBe(TransactionID || null);
  expect(report?.namedAt).toBe(TransactionID ? stamp.TimeStamp : undefined);
  const { end } = await driver.reverse({ ...sale, receiptNumber: TransactionID });
  expect(end).toBe(TransactionID ? "lost" : "not-sent");
});

test.each([
  ["At SaleToPOIRequest.MessageHeader: a wrong or missing id", true],
  ["At SaleToPOIRequest.MessageHeader, field POIID: Missing", true],
  ["At SaleToPOIRequest.MessageHeader, field SaleID: Missing", false],
  ["At MessageHeader: these ids were used before", false],
])("%s: NEXO_POIID is to be compared: %s", (said, expected) => {
  expect(withAdvice(said).includes("compare NEXO_POIID")).toBe(expected);
});

test("an expired certificate can be that of the root", () => {
  const error = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
  expect(connectionProblem(error)).toMatch(/or its root in NEXO_CA_FILE, has expired: check/);
});
