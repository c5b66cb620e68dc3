import { describe, expect, test } from "vitest";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type { TestClock } from "../../../support/test-clock.ts";
import { SessionPeer } from "./session-peer.ts";
import { type UnaskedHouse, unaskedHouse } from "./unasked-house.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
const blank = "          ";

type Kept = UnaskedHouse<SessionPeer> & {
  /** The next customer, whose result is of this amount and names nothing. */
  next(amountMinor?: number): void;
};

/** A terminal that names nothing, and whose result of A-1 (9.99) has not come. */
async function keptBack(before?: (made: Kept) => Promise<void>): Promise<Kept> {
  const made = await unaskedHouse({ peer: (clock: TestClock) => new SessionPeer(clock), messages });
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

describe("a result that was kept back until the next payment, and names nothing", () => {
  test("proves neither order of its amount", async () => {
    const { at, paid, next, phase, alarms } = await keptBack();
    next();
    expect(await paid("B-1")).toBe("Unknown");
    expect([phase("A-1"), phase("B-1")]).toEqual(["in-doubt", "in-doubt"]);
    expect(alarms()).toContain("unmatched-transaction");
    expect(at.journal.terminalLog.unmatched(2)).toHaveLength(1);
    expect(at.supervisor.stored).toEqual([]);
  });

  test.each([
    ["of its amount", 999],
    ["that tells no amount", 0],
  ])("denies no order %s, when it is a refusal", async (_, amountMinor) => {
    const { paid, peer, next, phase } = await keptBack();
    next();
    peer.change = { private: blank, amountMinor, status: "7" };
    expect(await paid("B-1", amountMinor === 0 ? 500 : 999)).toBe("Unknown");
    expect([phase("A-1"), phase("B-1")]).toEqual(["in-doubt", "in-doubt"]);
  });

  test("is nothing that can come behind the result of a later order", async () => {
    const { paid, next, phase } = await keptBack();
    next(500);
    expect(await paid("B-1", 500)).toBe("Success");
    next();
    expect(await paid("C-1")).toBe("Success");
    expect([phase("A-1"), phase("C-1")]).toEqual(["in-doubt", "charged"]);
  });

  test("keeps nobody from paying where results name their order", async () => {
    const { paid, peer, next, phase } = await keptBack();
    next();
    peer.change = {};
    expect(await paid("B-1")).toBe("Success");
    expect([phase("A-1"), phase("B-1")]).toEqual(["in-doubt", "charged"]);
  });

  test("charges nobody in vain at a terminal that is known to name nothing", async () => {
    const { paid, peer, next, phase } = await keptBack(async (made) => {
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
