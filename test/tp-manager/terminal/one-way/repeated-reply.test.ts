import { describe, expect, test } from "vitest";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { type OneWayHouse, oneWayHouse } from "./one-way-house.ts";
import { ACK, SessionPeer } from "./session-peer.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
const blank = "          ";

/** A terminal that does not return the private field. */
async function namelessHouse(): Promise<OneWayHouse<SessionPeer>> {
  const made = await oneWayHouse({ peer: (clock: TestClock) => new SessionPeer(clock), messages });
  made.peer.change = { private: blank };
  return made;
}

/** Our ACK of the next reply is lost, so the terminal sends the reply again. */
function loseAck(peer: SessionPeer): void {
  const { hears } = peer;
  let [isLost, acks] = [false, 0];
  peer.hears = (hex) => {
    if (hex === ACK) acks += 1;
    if (acks === 2 && !isLost) {
      isLost = true;
      peer.send(peer.answer({ private: blank }));
    } else hears(hex);
  };
}

describe("a reply without a reference that comes again, because our ACK was lost", () => {
  test("does not charge another order in doubt", async () => {
    const { at, peer, paid, phase, alarms } = await namelessHouse();
    const { onPaid } = peer;
    peer.onPaid = () => {};
    expect(await paid("A-1")).toBe("Unknown");
    await at.clock.advance(100_000);
    peer.onPaid = onPaid;
    peer.again();
    peer.change = { private: blank, amountMinor: 500 };
    expect(await paid("B-1", 500)).toBe("Success");
    peer.again();
    peer.change = { private: blank };
    loseAck(peer);
    expect(await paid("C-1")).toBe("Success");
    await at.clock.advance(20_000);
    expect([phase("A-1"), phase("C-1")]).toEqual(["in-doubt", "charged"]);
    expect(at.supervisor.stored).toHaveLength(2);
    expect(alarms()).not.toContain("unmatched-transaction");
  });

  test("is no unmatched transaction", async () => {
    const { at, peer, paid, alarms } = await namelessHouse();
    loseAck(peer);
    expect(await paid()).toBe("Success");
    await at.clock.advance(20_000);
    expect(alarms()).not.toContain("unmatched-transaction");
    expect(peer.written.slice(-2)).toEqual([ACK, ACK]);
  });
});
