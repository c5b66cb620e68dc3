import { describe, expect, test } from "vitest";
import { conditionsOf } from "../../../src/shared/catalog/conditions.ts";
import { errorTable } from "../../../src/shared/catalog/errors.ts";
import { ownConditions } from "../../../src/tp-manager/http/status/facts.ts";
import { caisseApMessages } from "../../../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { concertMessages } from "../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type { Messages } from "../../../src/tp-manager/terminal/one-way/dialogue.ts";
import type { AbortReason } from "../../../src/tp-manager/terminal/terminal.ts";
import type { TestClock } from "../../support/clocks/test-clock.ts";
import type { House } from "../../support/house/payment-house.ts";
import { bareOptions } from "../terminal/one-way/bare-house.ts";
import { type OneWayHouse, oneWayHouse } from "../terminal/one-way/one-way-house.ts";
import { SessionPeer } from "../terminal/one-way/session-peer.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
const blank = { private: "          " };
type Change = SessionPeer["change"];

interface Kiosk extends OneWayHouse<SessionPeer> {
  /** One customer pays; "lost": no result comes. */
  sells(orderId: string, result: Change | "lost", amountMinor?: number): Promise<string>;
}

async function kiosk(result: Messages = messages): Promise<Kiosk> {
  const peerOf = (clock: TestClock) => new SessionPeer(clock);
  const made = await oneWayHouse({ peer: peerOf, messages: result });
  const { peer, paid, at } = made;
  const { onPaid } = peer;
  return {
    ...made,
    async sells(orderId, result, amountMinor = 999) {
      peer.again();
      peer.onPaid = result === "lost" ? () => {} : onPaid;
      peer.requests.length = 0;
      peer.change = result === "lost" ? {} : { amountMinor, ...result };
      const end = await paid(orderId, amountMinor);
      if (end === "Unknown") await at.clock.advance(100_000);
      return end;
    },
  };
}

/** Messages whose refusals have this reason, as other protocols report it. */
function refusing(reason: AbortReason): Messages {
  const read: Messages["read"] = (reply, order) => {
    const reading = messages.read(reply, order);
    if (reading.reading !== "result" || reading.report.good) return reading;
    return { ...reading, report: { ...reading.report, reason } };
  };
  return { ...messages, read };
}

function conditionsAt(at: House) {
  const { handOff, clock, arbiter, journal } = at;
  const tpManager = ownConditions({ handOff, clock, arbiter, journal });
  return conditionsOf({ supervisor: undefined, tpManager }).map(({ name, says }) => [name, says]);
}

describe("a kiosk with one price at a terminal whose results name no payment", () => {
  test.each([
    ["a new installation", []],
    ["results that had names before", [{}]],
  ])("leaves at most one more order unknown: %s", async (_, before: Change[]) => {
    const { sells, peer, at } = await kiosk();
    for (const result of before) expect(await sells("Z-1", result)).toBe("Success");
    expect(await sells("A-1", "lost")).toBe("Unknown");
    expect(await sells("B-1", blank)).toBe("Unknown");
    expect(at.journal.terminalLog.unmatched(2)).toHaveLength(1);
    for (const orderId of ["C-1", "D-1"]) {
      expect(await sells(orderId, blank)).toBe("TERMINAL_IN_DOUBT");
      expect(peer.requests).toEqual([]);
    }
    expect(await sells("E-1", blank, 500)).toBe("Success");
    expect(await sells("C-1", blank)).toBe("Success");
  });

  test("refuses further sales after the first refusal that names no payment", async () => {
    const { sells, peer } = await kiosk();
    await sells("A-1", "lost");
    expect(await sells("B-1", { ...blank, status: "7" })).toBe("Unknown");
    expect(await sells("C-1", blank)).toBe("TERMINAL_IN_DOUBT");
    expect(peer.requests).toEqual([]);
  });

  test("leaves no further order unknown where the driver says that results name none", async () => {
    const { sells, peer } = await kiosk({ ...messages, namesNothing: true });
    await sells("A-1", "lost");
    expect(await sells("B-1", blank)).toBe("TERMINAL_IN_DOUBT");
    expect(peer.requests).toEqual([]);
    expect(await sells("C-1", blank, 500)).toBe("Success");
    expect(await sells("B-1", blank)).toBe("Success");
  });

  test("shows a condition until an operator settles the orders", async () => {
    const { sells, at } = await kiosk();
    await sells("A-1", "lost");
    expect(conditionsAt(at)).toEqual([]);
    await sells("B-1", blank);
    const says = "Payments of 9.99 EUR are refused, because these orders are in doubt: B-1, A-1";
    expect(conditionsAt(at)).toEqual([
      [
        "sales-without-order",
        "Transactions of the terminal that belong to no order for certain: 1",
      ],
      ["amounts-refused", says],
    ]);
    const refused = at.arbiter.oneWay?.ambiguousOrders.map(({ request }) => request.orderId);
    expect(refused).toEqual(["B-1", "A-1"]);
    expect(errorTable.TERMINAL_IN_DOUBT.action).toContain("an operator settles it");
  });
});

test.each([
  ["declined", "Declined"],
  ["cancelled", "Cancelled"],
  ["customer-timeout", "Cancelled"],
  ["terminal-fault", "Failed"],
] as const)("after a payment's own refusal no result is delayed: %s", async (reason, outcome) => {
  const { sells, phase } = await kiosk(refusing(reason));
  await sells("A-1", "lost");
  expect(await sells("B-1", { status: "7" })).toBe(outcome);
  expect(await sells("C-1", blank)).toBe("Success");
  expect([phase("A-1"), phase("C-1")]).toEqual(["in-doubt", "charged"]);
});

test("Caisse-AP without a reference in its settings says that results name no payment", () => {
  const { namesNothing: without } = caisseApMessages({ ...bareOptions, reference: null });
  const { namesNothing: named } = caisseApMessages({ ...bareOptions, reference: "CF" });
  expect([without, named]).toEqual([true, undefined]);
});
