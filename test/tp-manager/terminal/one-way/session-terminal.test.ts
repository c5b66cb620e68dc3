import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import { encodeFrame } from "../../../../src/tp-manager/terminal/concert/link/frame.ts";
import type { Messages } from "../../../../src/tp-manager/terminal/one-way/dialogue.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { outcome, pay, request } from "../../../support/house/payment-house.ts";
import { bareMessages } from "./bare-house.ts";
import { oneWayHouse } from "./one-way-house.ts";
import { ACK, ENQ, EOT, SessionPeer } from "./session-peer.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
const concertHouse = () =>
  oneWayHouse({ peer: (clock: TestClock) => new SessionPeer(clock), messages });

describe("the message about a line", () => {
  test("names a missing port, a silent terminal or a wrong parity", async () => {
    const missing = await concertHouse();
    missing.peer.isAway = true;
    missing.peer.drop();
    await missing.at.clock.advance(2_000);
    await missing.paid();
    const silent = await concertHouse();
    silent.peer.onEnq = () => "";
    await silent.paid();
    const other = await concertHouse();
    other.peer.onEnq = () => "95";
    await other.paid();
    const problems = [missing, silent, other].map(({ at }) => {
      const state = at.journal.attempts.decisive("A-1")?.state;
      return state && "outcome" in state ? state.outcome.message : "";
    });
    expect(problems[0]).toContain("cannot open /dev/test");
    expect(problems[1]).toContain("does not answer");
    expect(problems[2]).toContain("wrong parity");
  });

  test("names a wrong parity even when /check is given up early", async () => {
    const { at, driver, peer } = await concertHouse();
    peer.onEnq = () => "95";
    const given = new AbortController();
    const checked = driver.check(given.signal).catch((error: Error) => error.message);
    await at.clock.advance(2_000);
    given.abort();
    expect(await checked).toContain("wrong parity");
  });

  test("names a wrong parity of the replies in the kiosk's answer", async () => {
    const { at, peer } = await concertHouse();
    peer.onPaid = () => peer.say("82", 1_000);
    const answer = pay(at, request("A-1"));
    await at.clock.advance(300_000);
    const { body } = await answer;
    expect(body.status).toBe("Unknown");
    expect(body.error?.message).toContain("wrong parity");
  });
});

describe("a terminal that opens a session of its own right after it accepted ours", () => {
  test("sends first, and then gets the request", async () => {
    const { peer, paid } = await concertHouse();
    peer.onEnq = (count) => (count === 1 ? `${ACK}${ENQ}` : ACK);
    expect(await paid()).toBe("Success");
    expect(peer.requests).toHaveLength(1);
  });
});

describe("a line that a terminal closes after each payment", () => {
  test("is opened again for the next payment at once", async () => {
    const { peer, paid } = await concertHouse();
    for (const orderId of ["A-1", "A-2", "A-3"]) {
      peer.requests.length = 0;
      peer.again();
      peer.onReplyTaken = () => {
        peer.drop(1);
        return EOT;
      };
      expect(await paid(orderId)).toBe("Success");
    }
    expect(peer.opened).toBeGreaterThanOrEqual(3);
  });
});

describe("a reply in which the line breaks", () => {
  test("is stored as far as it was read, and the order is unknown", async () => {
    const { at, peer, paid } = await concertHouse();
    peer.onPaid = () => {
      peer.say(ENQ, 1_000);
      peer.say(peer.answer({ status: "7", report: "4111111111111111" }).slice(0, 80), 1_100);
      peer.drop(1_200);
    };
    expect(await paid()).toBe("Unknown");
    const kept = JSON.stringify(at.journal.attempts.decisive("A-1")?.state);
    expect(kept).toContain("a reply that was cut");
    expect(kept + at.lines.join("")).not.toContain("4111111111111111");
  });
});

describe("a damaged reply shows no digit of a card number in clear", () => {
  const report = "4970101234567890".padEnd(55);
  /** The number with a digit that one wrong bit has made a letter. */
  const wrongBit = report.replace("3", "s");
  const badCheck = (hex: string): string => hex.slice(0, -2) + (hex.endsWith("7f") ? "7e" : "7f");
  test.each<[string, Messages, (peer: SessionPeer) => string]>([
    ["with a wrong bit", messages, (peer) => badCheck(peer.answer({ report: wrongBit }))],
    [
      "with a wrong bit, contactless",
      messages,
      (peer) => badCheck(peer.answer({ paymentMode: "B", report: wrongBit })),
    ],
    ["that is cut", messages, (peer) => peer.answer({ paymentMode: "B", report }).slice(0, 48)],
    [
      "of another length",
      messages,
      () => Buffer.from(encodeFrame(Buffer.from(`01000000999B${wrongBit}`))).toString("hex"),
    ],
    [
      "of tags, cut in the number",
      bareMessages,
      () => Buffer.from(encodeFrame(Buffer.from("CZ0040300AA01649701012"))).toString("hex"),
    ],
  ])("%s", async (_, of, replied) => {
    const { at, driver, peer, paid } = await oneWayHouse({
      peer: (clock: TestClock) => new SessionPeer(clock),
      messages: of,
    });
    const texts: string[] = [];
    driver.subscribe((event) => {
      if (event.type === "protocol") texts.push(event.text);
    });
    peer.onPaid = () => peer.send(replied(peer));
    expect(await paid()).toBe("Unknown");
    const kept = JSON.stringify(at.journal.attempts.decisive("A-1")?.state);
    expect(kept).toContain(texts[0]?.slice(0, 20));
    expect([kept, ...texts].join().match(/4970|1012|4567890/g)).toBeNull();
  });
});

describe("a result after a restart of the program", () => {
  test("charges its order, and gets its ACK only after that", async () => {
    const path = join(temporaryFolder(), "journal.db");
    const make = { peer: (clock: TestClock) => new SessionPeer(clock), messages, path };
    const before = await oneWayHouse(make);
    before.peer.onPaid = () => {};
    const answer = pay(before.at, request("A-1"));
    await before.at.clock.advance(5_000);
    answer.catch(() => undefined);
    const { requests } = before.peer;
    before.at.close();
    const after = await oneWayHouse(make);
    expect(after.phase()).toBe("in-doubt");
    after.peer.requests.push(...requests);
    after.peer.send(after.peer.answer());
    after.peer.requests.length = 0;
    await after.at.clock.advance(3_000);
    expect([after.phase(), after.peer.written]).toEqual(["charged", [ACK, ACK]]);
    await after.at.clock.advance(300_000);
    expect(after.at.arbiter.inquiries.blockedBy).toBeUndefined();
    expect(await after.paid("B-1")).toBe("Success");
  });
});

describe("/check", () => {
  test("asks an idle terminal, and none while a payment runs or may run", async () => {
    const { at, peer, driver } = await concertHouse();
    const { signal } = new AbortController();
    const idle = driver.check(signal);
    await at.clock.advance(100);
    expect([(await idle).cr, peer.written]).toEqual(["0", [ENQ, EOT]]);
    peer.onPaid = () => {};
    const answer = pay(at, request("A-1"));
    await at.clock.advance(60_000);
    peer.written.length = 0;
    expect([(await driver.check(signal)).cr, peer.written]).toEqual(["1", []]);
    await at.clock.advance(200_000);
    expect([outcome(await answer), peer.written]).toEqual(["Unknown", [ENQ, EOT]]);
    const again = driver.check(signal);
    await at.clock.advance(100);
    expect((await again).cr).toBe("0");
  });
});
