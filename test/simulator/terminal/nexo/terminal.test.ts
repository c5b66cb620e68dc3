import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type HeaderIds,
  headerFor,
  type NexoKey,
  NONCE_BYTES,
  nexoKey,
  readMessage,
  readRefusal,
  writeMessage,
} from "../../../../src/nexo/index.ts";
import { nexoProtocol } from "../../../../src/simulator/terminal/nexo/nexo-protocol.ts";
import type { NexoOptions } from "../../../../src/simulator/terminal/nexo/options.ts";
import { completed } from "../../../../src/simulator/terminal/options.ts";
import { openTerminal } from "../../../../src/simulator/terminal/terminal-simulator.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";

const pace = { customerMs: 0, hostMs: 0, walkAwayMs: 0, rebootMs: 20 };
const key = nexoKey("simulator", 1, "simulated terminal");

async function started(behaviour: Partial<NexoOptions["behaviour"]> = {}, clock = steppedClock) {
  const given = { tcp: { host: "127.0.0.1", port: 0 }, pace, behaviour, controlPort: 0 };
  const simulator = await openTerminal(
    nexoProtocol,
    completed(nexoProtocol.defaults, clock, given),
  );
  onTestFinished(() => simulator.close());
  return simulator;
}
type Started = Awaited<ReturnType<typeof started>>;

/** A register of its own, which trusts the terminal's root and compares no name. */
function post(
  at: Started,
  body: string,
  path = "/nexo",
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const request = httpsRequest(
    {
      host: "127.0.0.1",
      port: at.endpoints.tcp?.port,
      path,
      method: "POST",
      ca: at.terminal.rootCertificate,
      checkServerIdentity: () => undefined,
      agent: false,
      // As some registers write it: without a length, in pieces.
      headers: { "transfer-encoding": "chunked" },
    },
    (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }),
      );
      response.on("error", reject);
    },
  );
  request.on("error", reject);
  request.end(body);
  return promise;
}

const ids = (serviceId: string): HeaderIds => ({
  saleId: "register",
  serviceId,
  poiId: "p400plus-275039202",
});

interface Asked {
  readonly category: string;
  readonly serviceId: string;
  readonly body: object;
  readonly own?: NexoKey | null;
}

async function ask(at: Started, { category, serviceId, body, own = key }: Asked, path?: string) {
  const header = headerFor(category, "Request", ids(serviceId));
  const message = { root: "SaleToPOIRequest", header, name: `${category}Request`, body } as const;
  const { status, text } = await post(
    at,
    writeMessage(message, own, randomBytes(NONCE_BYTES)),
    path,
  );
  const read = status === 200 && text !== "" ? readMessage(text, own) : undefined;
  return { status, text, message: read, body: read?.body as Record<string, never> | undefined };
}

const payment = (serviceId: string, amount = 12): Asked => ({
  category: "Payment",
  serviceId,
  body: {
    SaleData: { SaleTransactionID: { TransactionID: "T-1", TimeStamp: "2026-01-15T12:00:00Z" } },
    PaymentTransaction: { AmountsReq: { Currency: "EUR", RequestedAmount: amount } },
  },
});
const status = (serviceId: string, of: string, category = "Payment"): Asked => ({
  category: "TransactionStatus",
  serviceId,
  body: { MessageReference: { MessageCategory: category, SaleID: "register", ServiceID: of } },
});
const failure = (ErrorCondition: string) => ({
  Response: { Result: "Failure", ErrorCondition },
});

describe("the simulated terminal", () => {
  test("answers a payment on both paths, and charges the card in its ledger", async () => {
    const at = await started();
    for (const [number, path] of ["/nexo", "/nexo/"].entries()) {
      const { body, message } = await ask(at, payment(`P${number}`), path);
      expect(message?.header).toMatchObject({ ServiceID: `P${number}`, MessageType: "Response" });
      expect(body).toMatchObject({
        Response: { Result: "Success" },
        PaymentResult: { AmountsResp: { AuthorizedAmount: "12", Currency: "EUR" } },
      });
      const { POITransactionID: named } = (body?.["POIData"] ?? {}) as Record<string, object>;
      const { transactionId } = at.ledger.entries[number] ?? {};
      expect(named).toMatchObject({ TransactionID: transactionId ?? "" });
    }
    expect((await ask(at, payment("P3"), "/other")).status).toBe(404);
    expect(at.ledger.charged).toBe(2_400);
  });

  test("takes each pair of ids once, and remembers its answer for two days", async () => {
    const clock = new TestClock();
    const at = await started({}, { ...steppedClock, now: () => clock.now() });
    await ask(at, payment("P1"));
    expect(await ask(at, payment("P1"))).toMatchObject({ status: 400 });
    expect(at.ledger.charged).toBe(1_200);
    expect((await ask(at, status("S1", "P1"))).body).toMatchObject({
      Response: { Result: "Success" },
      RepeatedMessageResponse: { MessageHeader: { ServiceID: "P1" } },
    });
    expect((await ask(at, status("S2", "P2"))).body).toMatchObject(failure("NotFound"));
    expect((await ask(at, status("S3", "P1", "Reversal"))).body).toMatchObject(failure("NotFound"));
    clock.jumpWallClock(48 * 3_600_000 + 1);
    expect((await ask(at, status("S4", "P1"))).body).toMatchObject(failure("NotFound"));
  });

  test("carries out one payment at a time, and names it to the second", async () => {
    const at = await started();
    at.arm("hold:at=card");
    const first = ask(at, payment("P1"));
    while (!at.terminal.running) await new Promise((resolve) => setImmediate(resolve));
    const second = await ask(at, payment("P2"));
    expect(second.body).toMatchObject(failure("Busy"));
    expect(JSON.stringify(second.body)).toContain("serviceId=P1");
    expect((await ask(at, status("S1", "P1"))).body).toMatchObject(failure("InProgress"));
    const abort = {
      category: "Abort",
      serviceId: "A1",
      body: { MessageReference: { MessageCategory: "Payment", ServiceID: "P1" } },
    };
    expect(await ask(at, abort)).toMatchObject({ status: 200, text: "" });
    at.terminal.parts.release();
    expect((await first).body).toMatchObject(failure("Aborted"));
    expect(at.ledger.charged).toBe(0);
    // An abort after the end is ignored.
    expect(await ask(at, { ...abort, serviceId: "A2" })).toMatchObject({ status: 200, text: "" });
  });

  test.each<[string, NexoKey | null]>([
    ["another passphrase", nexoKey("simulator", 1, "other")],
    ["another key", nexoKey("other", 1, "simulated terminal")],
    ["no key", null],
  ])("refuses %s with status 400, in clear", async (_what, own) => {
    const at = await started();
    const { status: http, text } = await ask(at, { ...payment("P1"), own });
    expect(http).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ errors: [expect.any(String)] });
    expect(at.ledger.charged).toBe(0);
  });

  test("refuses what is no message, with the texts of a terminal", async () => {
    const at = await started({ passphrase: null });
    const { status: http, text } = await post(at, '{"a":1}');
    expect([http, JSON.parse(text).errors[0]]).toEqual([
      400,
      "At toplevel, field SaleToPOIRequest: Missing",
    ]);
    const wrong = { ...payment("P1"), own: null, body: { SaleData: {} } };
    expect((await ask(at, wrong)).status).toBe(400);
    const unknown = { category: "CardAcquisition", serviceId: "C1", body: {}, own: null };
    expect((await ask(at, unknown)).status).toBe(400);
    // What was refused has not begun, and its ids may come again.
    const asked = { ...status("S1", "P1"), own: null };
    expect((await ask(at, asked)).body).toMatchObject(failure("NotFound"));
    expect((await ask(at, { ...payment("P1"), own: null })).status).toBe(200);
  });

  test.each([
    [12.05, "Refusal", "214 Declined online"],
    [12.51, "Refusal", "210 Not enough balance"],
    [12.54, "Refusal", "228 Card expired"],
    [12.55, "WrongPIN", "129 Invalid online PIN"],
    [12.62, "Refusal", "199 Card blocked"],
    [11.24, "Refusal", "210 Not enough balance"],
    [12.14, "InvalidCard", "214 Declined online"],
  ])("refuses %d with %s, %s, as its cents or its ending say", async (amount, condition, why) => {
    const at = await started();
    const { body } = await ask(at, payment("P1", amount));
    expect(body).toMatchObject(failure(condition));
    expect(JSON.stringify(body)).toContain(`refusalReason=${encodeURIComponent(why)}`);
    expect(at.ledger.charged).toBe(0);
  });

  test("takes no message in clear where it plays a live terminal", async () => {
    const at = await started({ passphrase: null, environment: "live" });
    const { status: http, text } = await ask(at, { ...payment("P1"), own: null });
    expect(http).toBe(400);
    const { name, header, body } = readMessage(text, null);
    expect([name, header.ServiceID, header.MessageType]).toEqual([
      "PaymentResponse",
      "P1",
      "Response",
    ]);
    expect(body).toMatchObject(failure("MessageFormat"));
    expect(readRefusal(text)).toMatchObject({ about: "form" });
    expect(readRefusal(text)?.text).toContain("REQUIRES payload crypto on live");
    expect(at.ledger.charged).toBe(0);
  });

  test("without a key names the body that it cannot see in a protected message", async () => {
    const at = await started({ passphrase: null });
    const { text } = await ask(at, { category: "Diagnosis", serviceId: "D1", body: {} });
    expect(JSON.parse(text)).toMatchObject({
      errors: ["At SaleToPOIRequest, field DiagnosisRequest: Missing"],
      warnings: [expect.stringContaining("NexoBlob"), expect.stringContaining("SecurityTrailer")],
    });
  });

  test("writes no card data into its trace, and gives out its root certificate", async () => {
    const at = await started();
    await ask(at, payment("P1"));
    const trace = JSON.stringify(at.terminal.trace.last(50));
    expect(trace).toContain("541333 **** 0006");
    expect(trace).toContain("SensitiveCardData");
    expect(trace).not.toMatch(/SensitiveCardData\.|ExpiryDate|CardSeqNumb/);
    const pem = await (await fetch(`${at.controlUrl}/ca`)).text();
    expect(pem).toBe(at.terminal.rootCertificate);
    const state = await (await fetch(`${at.controlUrl}/state`)).json();
    expect(state).toMatchObject({ poiId: "P400Plus-275039202", protocol: "nexo" });
  });

  test("is trusted again after a start, by the root that it has written", async () => {
    const caFile = join(temporaryFolder(), "root.pem");
    const [first, again, other] = [
      await started({ caFile }),
      await started({ caFile }),
      await started(),
    ];
    expect(readFileSync(caFile, "utf8")).toBe(first.terminal.rootCertificate);
    expect(again.terminal.rootCertificate).toBe(first.terminal.rootCertificate);
    expect(other.terminal.rootCertificate).not.toBe(first.terminal.rootCertificate);
    expect((await ask(again, payment("P1"))).status).toBe(200);
  });

  test("receives a reversal of a sale once, and the bank carries it out", async () => {
    const at = await started();
    const { body } = await ask(at, payment("P1"));
    const { POIData } = body as unknown as { POIData: { POITransactionID: object } };
    const reversal = (serviceId: string) =>
      ask(at, {
        category: "Reversal",
        serviceId,
        body: { OriginalPOITransaction: POIData, ReversalReason: "MerchantCancel" },
      });
    expect((await reversal("R1")).body).toMatchObject({ Response: { Result: "Success" } });
    expect((await reversal("R2")).body).toMatchObject(failure("NotAllowed"));
    expect(at.ledger.charged).toBe(0);
  });

  test("has the page's ways to be used: no paper, no cable, another terminal", async () => {
    const at = await started();
    at.terminal.parts.paperOut = true;
    expect((await ask(at, payment("P1"))).body).toMatchObject(failure("DeviceOut"));
    at.terminal.parts.paperOut = false;
    await at.setCable(false);
    await expect(ask(at, payment("P2"))).rejects.toThrow();
    await at.setCable(true);
    at.terminal.parts.swapped = true;
    for (;;) {
      const back = await ask(at, payment("P3")).catch(() => undefined);
      if (back) expect(back.status).toBe(400);
      if (back) break;
    }
  });
});
