import { describe, expect, test } from "vitest";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { type OneWayHouse, oneWayHouse } from "./one-way-house.ts";
import { EOT, SessionPeer } from "./session-peer.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
const blank = "          ";

type Kept = OneWayHouse<SessionPeer> & {
  /** The next customer, whose result has this amount and names no payment. */
  next(amountMinor?: number): void;
};

/** A terminal whose results name no payment, and have not come yet for A-1 (9.99). */
async function delayed(before?: (made: Kept) => Promise<void>): Promise<Kept> {
  const made = await oneWayHouse({ peer: (clock: TestClock) => new SessionPeer(clock), messages });
  const { peer, paid, at } = made;
  const { onPaid } = peer;
  const next = (amountMinor = 999): void => {
    peer.again();
    peer.onPaid = onPaid;
    peer.requests.length = 0;
    peer.change = { private: blank, amountMinor };
  };
  const kept = { ...made, next };
  await before?.(kept);
  next();
  peer.onPaid = () => {};
  expect(await paid("A-1")).toBe("Unknown");
  await at.clock.advance(100_000);
  peer.again();
  peer.onPaid = onPaid;
  return kept;
}

describe("a delayed result that comes within the next payment and names none", () => {
  test("proves neither order of its amount", async () => {
    const { at, paid, next, phase, alarms } = await delayed();
    next();
    expect(await paid("B-1")).toBe("Unknown");
    expect([phase("A-1"), phase("B-1")]).toEqual(["in-doubt", "in-doubt"]);
    expect(alarms()).toContain("unmatched-transaction");
    expect(at.journal.terminalLog.unmatched(2)).toHaveLength(1);
    expect(at.supervisor.stored).toEqual([]);
  });

  test.each([
    ["of its amount", 999],
    ["without an amount", 0],
  ])("that refuses leaves both orders in doubt: a refusal %s", async (_, amountMinor) => {
    const { paid, peer, next, phase } = await delayed();
    next();
    peer.change = { private: blank, amountMinor, status: "7" };
    expect(await paid("B-1", amountMinor === 0 ? 500 : 999)).toBe("Unknown");
    expect([phase("A-1"), phase("B-1")]).toEqual(["in-doubt", "in-doubt"]);
  });

  test("is not expected any more after a later order had its own result", async () => {
    const { paid, next, phase } = await delayed();
    next(500);
    expect(await paid("B-1", 500)).toBe("Success");
    next();
    expect(await paid("C-1")).toBe("Success");
    expect([phase("A-1"), phase("C-1")]).toEqual(["in-doubt", "charged"]);
  });

  test("does not stop an order whose result carries its reference", async () => {
    const { paid, peer, next, phase } = await delayed();
    next();
    peer.change = {};
    expect(await paid("B-1")).toBe("Success");
    expect([phase("A-1"), phase("B-1")]).toEqual(["in-doubt", "charged"]);
  });

  test("stops sales of its amount at a terminal whose results are known to name none", async () => {
    const { paid, peer, next, phase } = await delayed(async (made) => {
      made.next();
      expect(await made.paid("Z-1")).toBe("Success");
    });
    next();
    expect(await paid("B-1")).toBe("TERMINAL_IN_DOUBT");
    expect([peer.requests, phase("B-1")]).toEqual([[], undefined]);
    next(500);
    expect(await paid("C-1", 500)).toBe("Success");
    next();
    expect(await paid("B-1")).toBe("Success");
  });
});

describe("a delayed result of an order that an operator has settled since", () => {
  const yes = { private: blank };
  const no = { private: blank, status: "7" };

  /** Pays for the next customer, with these results within the payment. */
  async function sells(made: Kept, amountMinor: number, ...results: SessionPeer["change"][]) {
    const { next, peer, paid, at } = made;
    next(amountMinor);
    peer.onReplyTaken = () => {
      const change = results.shift();
      if (change) peer.send(peer.answer(change));
      return EOT;
    };
    peer.onPaid = () => peer.onReplyTaken();
    const end = await paid("B-1", amountMinor);
    if (end === "Unknown") await at.clock.advance(100_000);
    return end;
  }
  const settle = ({ at }: Pick<Kept, "at">, orderId: string, outcome: "charged" | "not_charged") =>
    at.settle({ orderId, outcome, note: "by its own journal" });
  const other = { report: "541333XXXXXX0002".padEnd(55) };

  test.each([
    ["its approval does not charge another order", "charged", 999, [yes], "Unknown"],
    ["its approval, then the other order's refusal", "charged", 999, [yes, no], "Declined"],
    ["its refusal does not end another order", "not_charged", 999, [no], "Unknown"],
    ["nor does one without amount", "not_charged", 500, [{ ...no, amountMinor: 0 }], "Unknown"],
    [
      "its refusal, then the other order's approval",
      "not_charged",
      500,
      [{ ...no, amountMinor: 0 }, yes],
      "Success",
    ],
    ["a refusal is not of an order that was charged", "charged", 999, [no], "Declined"],
    ["an approval is not of one that was not", "not_charged", 999, [yes], "Success"],
    [
      "its approval, and the other order's of another amount",
      "charged",
      500,
      [{ ...yes, amountMinor: 999 }, yes],
      "Success",
    ],
  ] as const)("%s", async (_, outcome, amountMinor, results, end) => {
    const made = await delayed();
    await settle(made, "A-1", outcome);
    expect(await sells(made, amountMinor, ...results)).toBe(end);
    expect(made.phase("A-1")).toBe(outcome.replace("_", "-"));
  });

  test("is listened for before the next payment, whatever an operator has said", async () => {
    const made = await oneWayHouse({
      peer: (clock: TestClock) => new SessionPeer(clock),
      messages,
    });
    const { peer, paid } = made;
    peer.onPaid = () => {};
    expect(await paid("A-1")).toBe("Unknown");
    await settle(made, "A-1", "not_charged");
    expect([await paid("A-1"), peer.requests.length]).toEqual(["TERMINAL_IN_DOUBT", 1]);
  });

  test("leaves one more order unknown at a kiosk with one price until it is settled", async () => {
    const made = await delayed();
    await settle(made, "A-1", "charged");
    expect(await sells(made, 999, yes)).toBe("Unknown");
    made.next();
    expect(await made.paid("C-1")).toBe("TERMINAL_IN_DOUBT");
    await settle(made, "B-1", "charged");
    made.next();
    made.peer.change = { ...yes, ...other };
    expect(await made.paid("C-1")).toBe("Success");
  });

  test("is not expected any more when it has come while nothing ran", async () => {
    const made = await delayed();
    await settle(made, "A-1", "charged");
    made.peer.send(made.peer.answer());
    await made.at.clock.advance(20_000);
    expect(made.alarms()).toEqual(["payment-unknown"]);
    expect(await sells(made, 999, { ...yes, ...other })).toBe("Success");
  });

  test("does not charge another order in doubt", async () => {
    const made = await delayed();
    await settle(made, "A-1", "charged");
    expect(await sells(made, 999)).toBe("Unknown");
    made.peer.send(made.peer.answer());
    await made.at.clock.advance(20_000);
    expect(made.phase("B-1")).toBe("in-doubt");
    expect(made.alarms()[0]).toBe("unmatched-transaction");
  });
});
