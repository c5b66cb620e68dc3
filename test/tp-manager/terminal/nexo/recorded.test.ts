import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { NexoMessage } from "../../../../src/nexo/index.ts";
import { certificatesIn } from "../../../../src/shared/config/server-trust.ts";
import { projectRoot } from "../../../../src/shared/version-files.ts";
import { hasVectors, vectorFile, vectorText } from "../../../nexo/vectors.ts";
import { fakeTerminal, poiId } from "./fake.ts";
import { order, paid, soon } from "./started.ts";

/*
 * The driver against recorded messages alone, without a simulated terminal: what terminals and the
 * fakes of others have sent, with the ids of the request in place of the recorded ones.
 */

type Json = Readonly<Record<string, unknown>>;

/** A recorded message in clear, as JSON. */
function recorded(file: string, passphrase?: string): Json {
  if (passphrase === undefined) return JSON.parse(vectorText(file)) as Json;
  const { vectors } = JSON.parse(vectorText("crypto.json")) as {
    vectors: Array<{ id: string; plaintext: string }>;
  };
  return JSON.parse(vectors.find(({ id }) => id === file)?.plaintext ?? "") as Json;
}

/** The same message with other ids wherever it has one, as the terminal had answered to us. */
function withIds(value: unknown, ids: Json): unknown {
  if (Array.isArray(value)) return value.map((one) => withIds(one, ids));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      if (name === "SaleTransactionID")
        return [name, { ...(one as Json), TransactionID: ids["own"] }];
      const isReference = name === "MessageReference" || name === "RepeatedMessageResponse";
      const inner = isReference ? { ...ids, ServiceID: ids["own"] } : ids;
      const known = typeof one === "string" && Object.hasOwn(ids, name);
      return [name, known ? ids[name] : withIds(one, inner)];
    }),
  );
}

/** Recorded answers that name no card, or something else in its place. */
const withoutCard = [
  "messages/payment-response-success.json",
  "mock-terminal/paymentResponse.json",
];

/** Serves one recorded answer after the other. */
function fake(...answers: readonly Json[]) {
  return fakeTerminal(({ header }, number) => {
    const { ServiceID, SaleID } = header;
    const ids = { ServiceID, SaleID, POIID: poiId, own: "KTESTTEST7" };
    const given = withIds(answers[number] ?? {}, ids);
    const [root = "", members] = Object.entries(given as Json)[0] ?? [];
    const { MessageHeader, ...others } = members as Json;
    const [name = "", body] = Object.entries(others)[0] ?? [];
    return { root, header: MessageHeader, name, body } as NexoMessage;
  });
}

describe.skipIf(!hasVectors)("recorded answers (CONFORMANCE_VECTORS)", () => {
  test.each([
    ["payment-response-2019", "p@ssw0rd123456", 100],
    ["payment-response-2018", "p@ssw0rd123456", 1_099],
    ["messages/payment-response-success.json", undefined, 1_525],
    ["messages/payment-response-java-sync.json", undefined, 100],
    ["mock-terminal/paymentResponse.json", undefined, 100],
  ])("%s is an approval", async (file, passphrase, amountMinor) => {
    const { driver } = await fake(recorded(file, passphrase));
    const { end, report } = await paid(driver, order(amountMinor));
    expect(end.end, JSON.stringify(end)).toBe("completed");
    expect(report).toMatchObject({ good: true, amountMinor, currencyNumeric: "978" });
    expect(report?.maskedPan).toEqual(
      withoutCard.includes(file) ? null : expect.stringMatching(/^\d{6}X+\d{4}$/),
    );
  });

  test("the ticket is the customer's copy, as the terminal wrote it", async () => {
    const { driver } = await fake(recorded("payment-response-2019", "p@ssw0rd123456"));
    const { end } = await paid(driver, order(100));
    const ticket = "ticket" in end ? end.ticket : "";
    expect(ticket).toMatch(/CARDHOLDER COPY.*€ 1\.00.*APPROVED/s);
    expect(ticket).not.toContain("MERCHANT COPY");
  });

  test.each([
    ["messages/payment-response-shopper-cancelled.json", "Cancel", "cancelled"],
    ["mock-terminal/abortPaymentResponse.json", "Aborted", "cancelled"],
    ["mock-terminal/124_paymentNotEnoughBalanceResponse.json", "Refusal", "declined"],
    ["mock-terminal/125_paymentCardBlockedResponse.json", "Refusal", "declined"],
    ["mock-terminal/126_paymentCardExpiredResponse.json", "Refusal", "declined"],
    ["mock-terminal/127_paymentInvalidAmountResponse.json", "Refusal", "declined"],
    ["mock-terminal/128_paymentInvalidCardResponse.json", "InvalidCard", "declined"],
    ["mock-terminal/134_paymentWrongPinResponse.json", "WrongPIN", "declined"],
  ])("%s is a refusal: %s", async (file, resultCode, reason) => {
    const { driver } = await fake(recorded(file));
    const { end, report } = await paid(driver);
    expect(end.end).toBe("completed");
    expect(report).toMatchObject({ good: false, resultCode, reason });
  });

  test("mock-terminal/paymentBusyResponse.json means that nothing was begun", async () => {
    const { driver } = await fake(recorded("mock-terminal/paymentBusyResponse.json"));
    expect((await paid(driver)).end).toMatchObject({ end: "refused", reason: "busy" });
  });

  test.each([
    "messages/reject-event-in-place-of-response.json",
    "messages/payment-response-error-empty.json",
    "mock-terminal/invalidJsonObjectNotificationResponse.json",
    "messages/card-acquisition-response-success.json",
  ])("%s is no answer to a payment", async (file) => {
    const { driver } = await fake(recorded(file));
    const { end, reports } = await paid(driver);
    expect([end.end, reports]).toEqual(["lost", []]);
  });

  test.each([
    ["messages/transaction-status-response-payment.json", 7_900],
    ["mock-terminal/paymentTransactionStatusResponse.json", 1_099],
  ])("%s repeats an approval", async (file, amountMinor) => {
    const { driver, asked } = await fake(recorded(file));
    const own = { reference: "KTESTTEST7", command: "payment" } as const;
    expect(await driver.recall(own, soon())).toMatchObject({
      kind: "answered",
      report: { good: true, amountMinor },
    });
    expect(asked[0]?.body).toMatchObject({
      MessageReference: { MessageCategory: "Payment", ServiceID: "KTESTTEST7" },
    });
  });

  test("the published root is taken, and has the fingerprint of the book", () => {
    const [root = ""] = certificatesIn("NEXO_CA_FILE", vectorFile("adyen-terminal-root-test.pem"));
    const { fingerprint256, ca } = new X509Certificate(root);
    const book = readFileSync(join(projectRoot, "docs/nexo.md"), "utf8");
    expect([ca, book.includes(fingerprint256.replaceAll(":", ""))]).toEqual([true, true]);
  });

  test("a repeated reversal is received, and no more", async () => {
    const { driver } = await fake(recorded("messages/transaction-status-response-reversal.json"));
    const own = { reference: "KTESTTEST7", command: "reversal" } as const;
    expect(await driver.recall(own, soon())).toMatchObject({ kind: "answered" });
  });
});
