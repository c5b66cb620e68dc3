import { describe, expect, test } from "vitest";
import type { AppError } from "../../../src/shared/catalog/errors.ts";
import { returnPoll } from "../../../src/tp-manager/supervisor/polls.ts";
import type { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import {
  type PaymentEnd,
  type Recollection,
  TerminalUnavailable,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { answered, failed, houseOf, phaseOf, sold } from "../../support/house/by-id-house.ts";
import { alarms, type House, outcome, pay, request } from "../../support/house/payment-house.ts";
import { LIMIT_MS } from "../../support/terminals/asked-by-id.ts";
import { approves, lost } from "../../support/terminals/scripted-terminal.ts";

const DAY_MS = 24 * 3_600_000;

describe("a reversal", () => {
  async function sale() {
    const { at, terminal } = houseOf();
    terminal.script = (_order, observer) => {
      observer.report(sold());
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await pay(at, request("A-1"));
    return { at, terminal };
  }

  async function reversed(
    recollection: Recollection | TerminalUnavailable,
    end: PaymentEnd = lost("no answer"),
  ) {
    const { at, terminal } = await sale();
    terminal.reversal = () => Promise.resolve(end);
    terminal.recollection = recollection;
    const reversing = at.afterSale.reverse("A-1").catch(() => undefined);
    await at.clock.advance(0);
    await reversing;
    await at.clock.advance(LIMIT_MS + 10_000);
    return { at, terminal };
  }

  test("names the sale as the terminal named it, with a reference of its own", async () => {
    const { at, terminal } = await reversed(answered());
    const [sent] = terminal.reversed;
    expect(sent).toMatchObject({ receiptNumber: "sim1.S1", namedAt: "2026-01-15T12:00:00Z" });
    expect(sent?.reference).not.toBe(terminal.paid[0]?.reference);
    expect(terminal.asked[0]).toMatchObject({ command: "reversal", reference: sent?.reference });
    expect(phaseOf(at)).toBe("reversal-in-doubt");
  });

  /** The supervisor reports what the gateway has paid back of the sale. */
  async function notified({ at }: Pick<ReturnType<typeof houseOf>, "at">, returnedMinor = 999) {
    const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
    const page = { returns: [{ transactionId, returnedMinor }], last: 1, more: false };
    const link = { call: () => Promise.resolve(page) } as unknown as SupervisorLink;
    await returnPoll(at.journal.returns, link, at.clock, at.hub.tap(at.log), at.arbiter).ask();
  }

  const statusOf = (at: House) =>
    pay(at, request("A-1")).then(outcome, (error: AppError) => error.code);

  const requested = { end: "lost", code: "requested", text: "received", ticket: "" } as const;
  const named: Recollection = { kind: "not-found" };

  test.each<[string, Recollection, PaymentEnd, number]>([
    ["says that it passed it on", named, requested, 0],
    ["remembers that it passed it on", answered(), lost("no answer"), 1],
  ])("of a terminal that %s waits for the gateway, and blocks nothing", async (...row) => {
    const [, recollection, end, asked] = row;
    const { at, terminal } = await reversed(recollection, end);
    expect([phaseOf(at), terminal.asked.length, alarms(at)]).toEqual([
      "reversal-in-doubt",
      asked,
      [],
    ]);
    const { body } = await pay(at, request("A-1"));
    const details = expect.objectContaining({ inDoubt: "reversal" });
    const message = expect.stringMatching(/^The order was paid\. .* gave the money back: \w/);
    const { status, chargedAmount } = body;
    expect([status, chargedAmount]).toEqual(["Unknown", null]);
    const error = { code: "PAYMENT_UNKNOWN", charged: "unknown", retry: "same_order" };
    expect(body.error).toEqual({ ...error, message, details });
    terminal.script = approves;
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    await at.clock.advance(DAY_MS);
    expect([alarms(at), terminal.asked.length]).toEqual([["payment-unknown"], asked]);
    await at.clock.advance(DAY_MS);
    expect(alarms(at)).toEqual(["payment-unknown"]);
    expect(terminal.reversed).toHaveLength(1);
  });

  test("that was passed on is still awaited after a restart, without a question", async () => {
    const first = await reversed(answered(), requested);
    first.at.close();
    const second = houseOf([], first.at.path);
    second.at.start();
    await second.at.clock.advance(2 * DAY_MS);
    expect([second.terminal.asked, alarms(second.at)]).toEqual([[], ["payment-unknown"]]);
  });

  test.each([
    ["the whole amount", 999, "ORDER_REVERSED", "charged"],
    ["a part", 400, "Unknown", "reversal-in-doubt"],
  ])("that was passed on, of which the gateway returned %s", async (...row) => {
    const [, returnedMinor, status, phase] = row;
    const { at } = await reversed(answered(), requested);
    await notified({ at }, returnedMinor);
    expect(phaseOf(at)).toBe(phase);
    expect(await statusOf(at)).toBe(status);
    expect(alarms(at)).not.toContain("returned-twice");
  });

  const away = new TerminalUnavailable("no-answer", "away");

  test.each<[string, PaymentEnd, Recollection | TerminalUnavailable]>([
    ["whose answer was lost", lost("no answer"), away],
    ["that failed", lost("UnreachableHost"), failed({ resultCode: null })],
  ])("%s has ended when the gateway says that all went back", async (_what, end, recollection) => {
    const { at } = await reversed(recollection, end);
    expect(phaseOf(at)).toBe("reversal-in-doubt");
    await notified({ at });
    expect(phaseOf(at)).toBe("charged");
    expect(await statusOf(at)).toBe("ORDER_REVERSED");
    await at.clock.advance(DAY_MS);
    expect([phaseOf(at), at.arbiter.inquiries.isAsking]).toEqual(["charged", false]);
    expect(alarms(at)).not.toContain("returned-twice");
  });

  test.each([requested, lost("no answer")])(
    "has ended when the gateway's return came before its answer (%#)",
    async (end) => {
      const { at, terminal } = await sale();
      terminal.recollection = answered();
      terminal.reversal = async () => {
        await notified({ at });
        return end;
      };
      const reversing = at.afterSale.reverse("A-1").catch(() => undefined);
      await at.clock.advance(0);
      await reversing;
      expect(phaseOf(at)).toBe("charged");
      expect(await statusOf(at)).toBe("ORDER_REVERSED");
      expect([terminal.reversed.length, alarms(at)]).toEqual([1, []]);
    },
  );

  test.each<[string, PaymentEnd]>([
    ["passed on", requested],
    ["answered with a failure", lost("UnreachableHost")],
  ])("that was %s, settled as reversed, counts as the gateway's return", async (_what, end) => {
    const { at } = await reversed(failed(), end);
    const before = alarms(at);
    await at.settle({ orderId: "A-1", outcome: "reversed", note: "in account" });
    await at.clock.advance(60_000);
    expect([phaseOf(at), alarms(at)]).toEqual(["charged", before]);
    await notified({ at });
    await at.clock.advance(DAY_MS);
    expect([await statusOf(at), alarms(at)]).toEqual(["ORDER_REVERSED", before]);
  });

  // The nexo driver gives a code only where nothing was begun, such as Busy.
  test.each([null, "Busy"])(
    "remembered as failed with the code %s may have been carried out",
    async (resultCode) => {
      const { at } = await reversed(failed({ resultCode, reason: null }));
      expect([phaseOf(at), alarms(at)]).toEqual(["reversal-in-doubt", ["payment-unknown"]]);
    },
  );

  const text = "no host";
  const aborted = { end: "aborted", code: "x", reason: "terminal-fault", ticket: "" } as const;
  test.each<[string, PaymentEnd, string, number]>([
    ["failed, is not sent", { ...aborted, text }, "REVERSAL_NOT_SAFE", 1],
    ["was not sent, is sent", { end: "not-sent", code: "x", text }, "REVERSAL_REFUSED", 2],
    ["was refused, is sent", { end: "refused", code: "x", text }, "REVERSAL_REFUSED", 2],
  ])("after one that %s", async (_what, end, code, sent) => {
    const { at, terminal } = await reversed({ kind: "not-found" }, end);
    expect(phaseOf(at)).toBe("charged");
    const again = at.afterSale.reverse("A-1").catch((error: AppError) => error.code);
    await at.clock.advance(0);
    expect([await again, terminal.reversed.length]).toEqual([code, sent]);
  });
});
