import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type NexoMessage,
  NONCE_BYTES,
  nexoKey,
  readMessage,
  writeMessage,
} from "../../../../src/nexo/index.ts";
import { readText } from "../../../../src/shared/process/node-http.ts";
import { certified } from "../../../../src/simulator/certificates.ts";
import type { NexoOptions } from "../../../../src/tp-manager/terminal/nexo/nexo-options.ts";
import { NexoTerminal } from "../../../../src/tp-manager/terminal/nexo/nexo-terminal.ts";
import { hasVectors, vectorText } from "../../../nexo/vectors.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import { order, paid, soon } from "./started.ts";

/*
 * The driver against recorded messages alone, without a simulated terminal: what terminals and the
 * fakes of others have sent, with the ids of the request in place of the recorded ones.
 */

const key = nexoKey("CryptoKeyIdentifier12345", 1, "p@ssw0rd123456");
const serialNumber = "275039202";
const poiId = `P400Plus-${serialNumber}`;

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

/** Serves one recorded answer after the other. */
async function fake(...answers: readonly Json[]) {
  const [fromMs, toMs] = [Date.now() - 1e6, Date.now() + 1e9];
  const root = certified({ commonName: "root", isAuthority: true, fromMs, toMs });
  const commonName = `${poiId}.test.terminal.adyen.com`;
  const own = certified({ commonName, fromMs, toMs }, root);
  const asked: NexoMessage[] = [];
  const server = createServer({ key: own.key, cert: own.cert }, async (request, response) => {
    const text = await readText(request, 1_000_000);
    const message = readMessage(text ?? "", key);
    const answer = answers[asked.length] ?? {};
    asked.push(message);
    const { ServiceID, SaleID } = message.header;
    const given = withIds(answer, { ServiceID, SaleID, POIID: poiId, own: "KTESTTEST7" });
    const [rootName = "", members] = Object.entries(given as Json)[0] ?? [];
    const { MessageHeader: header, ...body } = members as Json;
    const [name = "", value] = Object.entries(body)[0] ?? [];
    const sent = { root: rootName, header, name, body: value } as NexoMessage;
    response.end(writeMessage(sent, key, randomBytes(NONCE_BYTES)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const options: NexoOptions = {
    address: {
      host: "127.0.0.1",
      port: (server.address() as AddressInfo).port,
      roots: [root.cert],
      environment: "test",
      serialNumber,
    },
    saleId: "kiosk",
    poiId,
    key,
    paymentLimitMs: 5_000,
    busyWaitMs: 0,
    pollMs: 5_000,
    reconnectMs: 5_000,
  };
  const driver = new NexoTerminal({ options, clock: steppedClock, log: recordingLog().log });
  onTestFinished(() => driver.close());
  return { driver, asked };
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
    expect(report?.maskedPan ?? "541333XXXXXX0010").toMatch(/^\d{6}X+\d{4}$/);
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

  test("a repeated reversal is received, and no more", async () => {
    const { driver } = await fake(recorded("messages/transaction-status-response-reversal.json"));
    const own = { reference: "KTESTTEST7", command: "reversal" } as const;
    expect(await driver.recall(own, soon())).toMatchObject({ kind: "answered" });
  });
});
