import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { CertificateKind } from "../../../../src/simulator/terminal/nexo/options.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { anotherKey, nexoOptions } from "../../../support/terminals/nexo-options.ts";
import { chargedAt, driverOf, order, paid, recalled, soon, startedTerminal } from "./started.ts";

describe("a payment", () => {
  test("is reported with amount, names, card and ticket", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    const { identity } = await driver.prepare(soon());
    expect(identity).toMatchObject({ serialNumber: "275039202", deviceId: "P400Plus-275039202" });
    const { end, report } = await paid(driver);
    expect(report).toMatchObject({
      good: true,
      resultCode: "Success",
      amountMinor: 1_200,
      currencyNumeric: "978",
      maskedPan: "541333XXXXXX0006",
      cardName: "mc",
      reference: "KTESTTEST7",
      receiptNumber: expect.stringMatching(/^sim\w+\.S\w{14}$/),
      namedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(end).toMatchObject({ end: "completed", ticket: expect.stringContaining("APPROVED") });
    expect(JSON.stringify({ end, report })).not.toMatch(/"1129"|SensitiveCardData/);
    expect(chargedAt(simulator)).toBe(1_200);
  });

  test.each([
    [1_205, "Refusal", "declined"],
    [124, "Refusal", "declined"],
    [128, "InvalidCard", "declined"],
    [134, "WrongPIN", "declined"],
    [1_268, "Cancel", "customer-timeout"],
  ])("of %d is refused with %s, which is %s", async (amountMinor, resultCode, reason) => {
    const simulator = await startedTerminal();
    const { end, report } = await paid(driverOf(simulator), order(amountMinor));
    expect(end.end).toBe("completed");
    expect(report).toMatchObject({ good: false, resultCode, reason });
    expect(chargedAt(simulator)).toBe(0);
  });

  test("is not sent in a currency that nobody knows, or without a reference", async () => {
    const driver = driverOf(await startedTerminal());
    const { reference: _, ...nameless } = order();
    for (const asked of [{ ...order(), currencyAlpha: "XYZ" }, nameless, order(0)]) {
      expect((await paid(driver, asked)).end.end).toBe("not-sent");
    }
  });
});

/** A fault, how the payment ends, and what is charged in the end. */
type Row = [fault: string, end: string, charged: number, code?: string];
const faults: Row[] = [
  ["json-additional", "completed", 1_200, "Success"],
  ["partial:by=200", "completed", 1_000, "Partial"],
  ["other-amount:by=1", "completed", 1_201, "Success"],
  ["no-host", "completed", 0, "UnreachableHost"],
  ["host-timeout", "completed", 0, "Communication timeout"],
  ["approved:kept=no", "completed", 0, "none"],
  ["approved:kept=yes", "completed", 1_200, "none"],
  ["crypto-error:code=3", "refused", 0],
  ["busy:with=other", "refused", 0],
  ["busy:with=none", "refused", 0],
  ["lost-answer", "lost", 1_200],
  ["cut-answer", "lost", 1_200],
  ["clear-answer", "lost", 1_200],
  ["wrong-key", "lost", 1_200],
  ["changed", "lost", 1_200],
  ["other-header", "lost", 1_200],
  ["no-body", "lost", 1_200],
  ["reject-event", "lost", 1_200],
  ["lost-request", "lost", 0],
  ["unplug:at=card,ms=20", "lost", 1_200],
  ["unplug:at=charged,ms=20", "lost", 1_200],
  ["unplug:at=answer,ms=20", "lost", 1_200],
  ["reboot:at=accepted", "lost", 0],
  ["reboot:at=card", "lost", 0],
  ["reboot:at=host", "lost", 0],
  ["reboot:at=charged", "lost", 1_200],
  ["reboot:at=answer", "lost", 1_200],
];

describe("with the fault", () => {
  test.each(faults)(
    "%s the payment ends as %s, and %d is charged",
    async (fault, expected, charged, code) => {
      const simulator = await startedTerminal();
      const driver = driverOf(simulator);
      simulator.arm(fault);
      const { end, report } = await paid(driver);
      expect(end.end, JSON.stringify(end)).toBe(expected);
      if (end.end !== "lost") expect(chargedAt(simulator)).toBe(charged);
      const codes = report ? [report.resultCode ?? "none"] : [];
      expect(codes).toEqual(code === undefined ? [] : [code]);
      if (report?.good) expect(report.amountMinor).toBe(charged);
      // Whatever ended as lost is found by its id, and what runs on is found when it has ended.
      if (end.end !== "lost") return;
      const remembered = await recalled(driver);
      expect(chargedAt(simulator)).toBe(charged);
      expect(remembered.kind).toBe(charged > 0 ? "answered" : "not-found");
      if (charged > 0) {
        expect(remembered).toMatchObject({ report: { good: true, amountMinor: charged } });
      }
    },
  );

  test("busy:with=own the payment is lost, and is one that still runs", async () => {
    const simulator = await startedTerminal();
    simulator.arm("busy:with=own");
    const driver = driverOf(simulator);
    expect((await paid(driver)).end.end).toBe("lost");
    const asked = { reference: "KTESTTEST7", command: "payment" } as const;
    expect(await driver.recall(asked, soon())).toEqual({ kind: "running" });
    expect(chargedAt(simulator)).toBe(0);
  });

  test("late-answer the payment is lost at the limit, and runs on until it is found", async () => {
    const simulator = await startedTerminal();
    simulator.arm("late-answer:ms=400");
    simulator.arm("hold:at=card,ms=300");
    const driver = driverOf(simulator, { paymentLimitMs: 100 });
    expect((await paid(driver)).end).toMatchObject({ end: "lost" });
    const asked = { reference: "KTESTTEST7", command: "payment" } as const;
    expect(await driver.recall(asked, soon())).toEqual({ kind: "running" });
    expect(await recalled(driver)).toMatchObject({ kind: "answered", report: { good: true } });
  });

  test("stale-answer the genuine answer to another request proves nothing", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    await paid(driver, order(1_200, "KEARLIER01"));
    simulator.arm("stale-answer");
    const { end, reports } = await paid(driver);
    expect([end.end, reports]).toEqual(["lost", []]);
    expect(await recalled(driver)).toMatchObject({ report: { reference: "KTESTTEST7" } });
  });

  test("refuse-connection nothing is sent, and the terminal is away", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    await driver.prepare(soon());
    simulator.arm("refuse-connection:ms=60000");
    expect((await paid(driver)).end).toMatchObject({ end: "not-sent", code: "line" });
    expect(driver.state.link).toBe("disconnected");
    await expect(driver.prepare(soon())).rejects.toMatchObject({ reason: "disconnected" });
  });

  test("crypto-error the state of the line says what to do", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    simulator.arm("crypto-error:code=9,times=2");
    await expect(driver.prepare(soon())).rejects.toMatchObject({ reason: "not-registered" });
    expect(driver.state.linkProblem).toContain("crypto error (9)");
  });
});

describe("a question by id", () => {
  test.each(["header", "reference", "both"])("is answered without its %s", async (without) => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    simulator.arm("lost-answer");
    await paid(driver);
    simulator.arm(`bare-repeat:without=${without}`);
    expect(await recalled(driver)).toMatchObject({ kind: "answered", report: { good: true } });
  });

  test("that repeats the answer to another request proves nothing", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    await paid(driver, order(1_200, "KEARLIER01"));
    await paid(driver);
    simulator.arm("wrong-repeat");
    expect(await recalled(driver)).toMatchObject({ kind: "not-told" });
  });

  test("finds nothing after a restart that forgets", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    simulator.arm("reboot:at=charged");
    simulator.arm("forget");
    expect((await paid(driver)).end.end).toBe("lost");
    expect(await recalled(driver)).toEqual({ kind: "not-found" });
    expect(chargedAt(simulator)).toBe(1_200);
  });

  test("is running as long as the terminal says that the payment runs", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    await paid(driver);
    simulator.arm("in-progress");
    const asked = { reference: "KTESTTEST7", command: "payment" } as const;
    expect(await driver.recall(asked, soon())).toEqual({ kind: "running" });
    expect((await recalled(driver)).kind).toBe("answered");
  });
});

describe("a certificate", () => {
  test.each<[CertificateKind, string, RegExp]>([
    ["own", "completed", /"ticket"/],
    ["legacy", "completed", /"ticket"/],
    ["other-name", "not-sent", /wrong\.example\.com.* is of no test terminal/],
    ["other-environment", "not-sent", /is of no test terminal: compare NEXO_ENVIRONMENT/],
    ["expired", "not-sent", /has expired: check this machine's clock/],
  ])("%s: the payment ends as %s, and why", async (certificate, expected, why) => {
    const simulator = await startedTerminal({ certificate });
    const { end } = await paid(driverOf(simulator));
    expect(end.end, JSON.stringify(end)).toBe(expected);
    expect(JSON.stringify(end)).toMatch(why);
  });

  test("cannot come from a port that speaks no TLS", async () => {
    const plain = createServer((_request, response) => response.end()).listen(0, "127.0.0.1");
    onTestFinished(() => void plain.close());
    await once(plain, "listening");
    const simulator = await startedTerminal();
    const { port } = plain.address() as AddressInfo;
    const address = { ...nexoOptions(simulator).address, port };
    const text = expect.stringMatching(/does not speak TLS: check the address and the port/);
    expect((await paid(driverOf(simulator, { address }))).end).toMatchObject({ text });
  });

  test("that names no terminal leaves a refusal in clear without proof", async () => {
    const simulator = await startedTerminal({ certificate: "legacy" });
    simulator.arm("crypto-error:code=3");
    expect((await paid(driverOf(simulator))).end.end).toBe("lost");
  });

  test("is checked whatever the environment says, on a line that is watched", async () => {
    const keptAlive = vi.spyOn(TLSSocket.prototype, "setKeepAlive");
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(() => void vi.unstubAllEnvs());
    onTestFinished(() => void keptAlive.mockRestore());
    const simulator = await startedTerminal({ certificate: "other-name" });
    expect((await paid(driverOf(simulator))).end.end).toBe("not-sent");
    expect(keptAlive).not.toHaveBeenCalled();
    await paid(driverOf(await startedTerminal()));
    expect(keptAlive).toHaveBeenCalledWith(true, 10_000);
  });

  test("of another terminal, or of an unknown root, is refused", async () => {
    const simulator = await startedTerminal();
    const { address } = nexoOptions(simulator);
    const other = await startedTerminal();
    const why = new Map<object, RegExp>([
      [{ serialNumber: "275039203" }, /is of another terminal: compare NEXO_POIID/],
      [{ roots: [other.terminal.rootCertificate] }, /signed by no root of NEXO_CA_FILE$/],
    ]);
    for (const [changed, text] of why) {
      const driver = driverOf(simulator, { address: { ...address, ...changed } });
      const end = { end: "not-sent", text: expect.stringMatching(text) };
      expect((await paid(driver)).end).toMatchObject(end);
    }
  });
});

describe("a key", () => {
  test.each([
    ["another identifier", { identifier: "other" }],
    ["another version", { version: 2 }],
    ["another passphrase", { phrase: "other" }],
  ])("with %s is refused before anything begins", async (_what, changes) => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator, { key: anotherKey(changes) });
    const text = expect.stringMatching(/crypto error.*compare NEXO_KEY_IDENTIFIER/);
    expect((await paid(driver)).end).toMatchObject({ end: "refused", text });
    expect(chargedAt(simulator)).toBe(0);
  });

  test("that only one side has is refused; without any, messages go in clear", async () => {
    const withKey = await startedTerminal();
    const refused = (why: RegExp) => ({ end: "refused", text: expect.stringMatching(why) });
    const inClear = await paid(driverOf(withKey, { key: null }));
    expect(inClear.end).toMatchObject(refused(/the terminal has a key, so set NEXO_KEY/));
    const without = await startedTerminal({ passphrase: null });
    const protectedOne = await paid(driverOf(without, { key: anotherKey({}) }));
    expect(protectedOne.end).toMatchObject(refused(/the terminal has no key, or has not/));
    expect((await paid(driverOf(without))).end.end).toBe("completed");
  });
});

describe("a cancel", () => {
  test("ends a payment that waits for a card", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    simulator.arm("hold:at=card,ms=100");
    const paying = paid(driver);
    await until(() => simulator.terminal.running !== undefined);
    expect(await driver.cancel()).toEqual({ answer: "taken" });
    expect((await paying).report).toMatchObject({ resultCode: "Aborted", reason: "cancelled" });
    expect(chargedAt(simulator)).toBe(0);
  });

  test("that the terminal ignores leaves an approval, which counts", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    simulator.arm("late-abort");
    simulator.arm("hold:at=card,ms=100");
    const paying = paid(driver);
    await until(() => simulator.terminal.running !== undefined);
    expect(await driver.cancel()).toEqual({ answer: "taken" });
    expect((await paying).report).toMatchObject({ good: true });
  });

  test("ends a payment whose answer was lost, by its id", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator, { paymentLimitMs: 50 });
    simulator.arm("hold:at=card,ms=300");
    expect((await paid(driver)).end.end).toBe("lost");
    const asked = { reference: "KTESTTEST7", command: "payment" } as const;
    expect(await driver.abort(asked)).toEqual({ answer: "taken" });
    expect(await recalled(driver)).toMatchObject({ report: { resultCode: "Aborted" } });
    expect(chargedAt(simulator)).toBe(0);
  });

  test("of nothing, and before anything was sent", async () => {
    const driver = driverOf(await startedTerminal());
    expect(await driver.cancel()).toEqual({ answer: "nothing-running" });
    const paying = paid(driver);
    await Promise.resolve();
    expect(await driver.cancel()).toEqual({ answer: "taken" });
    expect((await paying).end.end).toBe("withdrawn");
  });
});

describe("a reversal", () => {
  test("is received, and what became of it is not known", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator);
    const { report } = await paid(driver);
    const { receiptNumber = "", namedAt = "" } = report ?? {};
    const asked = { ...order(), receiptNumber: receiptNumber ?? "", namedAt };
    const end = await driver.reverse({ ...asked, reference: "KREVERSE01" });
    expect(end).toMatchObject({ end: "lost", text: expect.stringContaining("received") });
    expect(chargedAt(simulator)).toBe(0);
    const again = await driver.reverse({ ...asked, reference: "KREVERSE02" });
    expect(again).toMatchObject({ end: "lost", text: "ALREADY_REFUNDED" });
    const asking = { reference: "KREVERSE01", command: "reversal" } as const;
    expect(await driver.recall(asking, soon())).toMatchObject({ kind: "answered" });
    const { namedAt: _, ...nameless } = asked;
    expect((await driver.reverse(nameless)).end).toBe("not-sent");
  });
});

describe("a terminal", () => {
  test("that is busy is waited for, and then refused; out of order at once", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator, { busyWaitMs: 1_500 });
    const { parts } = simulator.terminal;
    parts.busy = true;
    const preparing = driver.prepare(soon());
    await until(() => driver.state.status?.cr === "1");
    parts.busy = false;
    await preparing;
    parts.busy = true;
    await expect(driver.prepare(soon())).rejects.toMatchObject({ reason: "busy" });
    parts.busy = false;
    parts.outOfOrder = true;
    await expect(driver.prepare(soon())).rejects.toMatchObject({ reason: "out-of-order" });
  });

  test("that goes away and comes back is noticed without a payment", async () => {
    const simulator = await startedTerminal();
    const driver = driverOf(simulator, { pollMs: 20 });
    driver.start();
    await until(() => driver.state.link === "connected");
    await simulator.setCable(false);
    await until(() => driver.state.link === "disconnected");
    await simulator.setCable(true);
    await until(() => driver.state.link === "connected");
  });
});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    await new Promise((resolve) => steppedClock.startTimer("until", 5, () => resolve(null)));
  }
}
