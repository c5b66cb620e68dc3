import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type {
  ApduLink,
  LinkListener,
  SendOutcome,
} from "../../../../../src/tp-manager/terminal/zvt/link/apdu-link.ts";
import { encodeFrame } from "../../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { SerialLink } from "../../../../../src/tp-manager/terminal/zvt/link/serial-link.ts";
import { decodeApdu, encodeApdu, fromHex, toHex } from "../../../../../src/zvt/index.ts";
import { TestClock } from "../../../../support/clocks/test-clock.ts";
import { usedBy } from "../../../../zvt/vector-uses.ts";
import { hasVectors } from "../../../../zvt/vectors.ts";
import { MemoryTransport } from "./memory-transport.ts";

const frame = (apdu: string): string => toHex(encodeFrame(fromHex(apdu)));
const pay = "06010a04000000000100490978";
const status = "05010300 0000".replace(" ", "");
const yes = "800000";
const report = "040f022700";
const [ACK, NAK] = ["06", "15"];

let clock: TestClock;
let line: MemoryTransport;
let link: ApduLink;
let events: string[];
let outcomes: SendOutcome["outcome"][];
/** What the listener answers at once to every message. */
let answer: string | null;

beforeEach(async () => {
  clock = new TestClock();
  line = new MemoryTransport("serial");
  events = [];
  outcomes = [];
  answer = null;
  const listener: LinkListener = {
    apdu: (apdu) => {
      events.push(toHex(encodeApdu(apdu)));
      if (answer !== null && apdu.control >> 8 < 0x80) send(answer);
    },
    malformed: (bytes) => events.push(`malformed ${toHex(bytes)}`),
    noise: (bytes) => events.push(`noise ${bytes}`),
    down: (problem) => events.push(`down ${problem}`),
  };
  link = new SerialLink(
    { transport: line, clock, timers: { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 } },
    listener,
  );
  await link.open(new AbortController().signal);
});

afterEach(async () => {
  await link.close();
  expect(clock.running).toEqual([]);
});

function send(apdu: string): void {
  link.send(decodeApdu(fromHex(apdu)), ({ outcome }) => outcomes.push(outcome));
}

describe("sending", () => {
  test("a frame that gets its ACK is delivered", () => {
    send(pay);
    expect(line.take()).toEqual([frame(pay)]);
    expect(outcomes).toEqual([]);
    line.arrive(ACK);
    expect(outcomes).toEqual(["delivered"]);
  });

  test("after a NAK the same bytes are sent again", () => {
    send(pay);
    line.arrive(NAK);
    expect(line.take()).toEqual([frame(pay), frame(pay)]);
    line.arrive(ACK);
    expect(outcomes).toEqual(["delivered"]);
  });

  test("without an ACK the frame is sent three times in all, T2 apart", async () => {
    send(pay);
    await clock.advance(4_999);
    expect(line.take()).toHaveLength(1);
    await clock.advance(1);
    expect(line.take()).toEqual([frame(pay)]);
    await clock.advance(5_000);
    expect(line.take()).toEqual([frame(pay)]);
    await clock.advance(4_999);
    expect(outcomes).toEqual([]);
    await clock.advance(1);
    expect(outcomes).toEqual(["no-ack"]);
    await clock.advance(60_000);
    expect(line.take()).toEqual([]);
  });

  test("after three NAKs the frame is given up as well", () => {
    send(pay);
    line.arrive(NAK + NAK + NAK);
    expect(outcomes).toEqual(["no-ack"]);
    expect(line.take()).toHaveLength(3);
  });

  test("an answer without an ACK before it counts as the ACK", () => {
    send(pay);
    line.arrive(frame(yes));
    expect(outcomes).toEqual(["delivered"]);
    expect(events).toEqual([yes]);
    line.take();
    line.arrive(ACK);
    expect([outcomes, line.take(), events]).toEqual([["delivered"], [], [yes]]);
  });

  test("a new message shows that our answer to the previous message arrived", () => {
    answer = yes;
    line.arrive(frame("04ff010a"));
    expect(outcomes).toEqual([]);
    line.arrive(frame("04ff010e"));
    expect(outcomes).toEqual(["delivered"]);
  });

  test("on a closed line nothing is sent", async () => {
    await link.close();
    send(pay);
    expect(outcomes).toEqual(["not-begun"]);
    expect(line.take()).toEqual([]);
  });

  test("a line that breaks before the ACK leaves the outcome broken", () => {
    send(pay);
    line.end();
    expect(outcomes).toEqual(["broken"]);
    expect(events).toEqual(["down memory broke"]);
  });

  test("a second command while one is under way throws", () => {
    send(pay);
    expect(() => send(status)).toThrow("still being sent");
  });
});

describe("receiving", () => {
  test("a good frame gets its ACK before it is passed on", () => {
    answer = yes;
    line.arrive(frame(report));
    expect(line.take()).toEqual([ACK, frame(yes)]);
    expect(events).toEqual([report]);
  });

  test("a bad checksum and a single 10 are refused with NAK and not passed on", () => {
    line.arrive("10028000001003f51e");
    line.arrive("10020610aa1003f51e");
    expect(line.take()).toEqual([NAK, NAK]);
    expect(events).toEqual([]);
  });

  test("a frame that stops midway is refused after T1", async () => {
    line.arrive("100280");
    await clock.advance(199);
    line.arrive("00");
    await clock.advance(199);
    expect(line.take()).toEqual([]);
    await clock.advance(1);
    expect(line.take()).toEqual([NAK]);
    line.arrive(frame(yes));
    expect(events).toEqual([yes]);
  });

  test("a repeat within T2 gets its ACK and is answered again, and passed on once", async () => {
    answer = yes;
    line.arrive(frame(report));
    await clock.advance(5_000);
    line.arrive(frame(report));
    expect(events).toEqual([report]);
    expect(line.take()).toEqual([ACK, frame(yes), frame(yes), ACK, frame(yes)]);
  });

  test("two equal print lines are both passed on when our first answer got its ACK", () => {
    answer = yes;
    line.arrive(frame("06d10140"));
    line.arrive(ACK);
    line.arrive(frame("06d10140"));
    line.arrive(ACK);
    expect(events).toEqual(["06d10140", "06d10140"]);
    expect(outcomes).toEqual(["delivered", "delivered"]);
  });

  test("of three equal messages the third, which follows no ACK, is a repeat", () => {
    answer = yes;
    line.arrive(frame("06d10140") + ACK + frame("06d10140") + frame("06d10140"));
    expect(events).toEqual(["06d10140", "06d10140"]);
  });

  test("an equal message after the time of all repeats is a new message", async () => {
    answer = yes;
    line.arrive(frame(report));
    await clock.advance(20_000);
    expect(outcomes).toEqual(["no-ack"]);
    line.arrive(frame(report));
    expect(events).toEqual([report, report]);
  });

  test("a repeated answer to one command is passed on once, to the next one again", () => {
    send(status);
    line.arrive(ACK + frame(yes) + frame(yes));
    expect(events).toEqual([yes]);
    send(status);
    line.arrive(ACK + frame(yes));
    expect(events).toEqual([yes, yes]);
  });

  test("noise is counted and reported, and the frame after it is read", () => {
    line.arrive(`fffefd${frame(report)}`);
    expect(events).toEqual(["noise 3", report]);
  });

  test("a good frame around a wrong length gets its ACK, then is reported as malformed", () => {
    line.arrive(frame("060005123456ba0978"));
    expect(line.take()).toEqual([ACK]);
    expect(events).toEqual(["malformed 060005123456ba0978"]);
  });
});

describe("both sides send at once (docs/zvt.md 2.5)", () => {
  test("the message gets its ACK and is answered, and our command is given up", () => {
    answer = yes;
    send("06b000");
    line.arrive(frame(report));
    expect(outcomes).toEqual(["collided"]);
    expect(line.take()).toEqual([frame("06b000"), ACK, frame(yes)]);
    line.arrive(ACK);
    expect(outcomes).toEqual(["collided", "delivered"]);
  });

  test("a command without a collision is sent three times and then given up", async () => {
    send("06b000");
    await clock.advance(15_000);
    expect(line.take()).toHaveLength(3);
    expect(outcomes).toEqual(["no-ack"]);
  });
});

describe.skipIf(!hasVectors)("frames that a receiver must refuse", () => {
  test.each(usedBy("bad-frame-at-driver").map((vector) => [vector.id, vector] as const))(
    "%s",
    async (_id, { hex, expect: expected }) => {
      const { reaction } = expected as { reaction: string };
      line.arrive(hex);
      if (reaction === "nak-after-t1") {
        expect(line.take()).toEqual([]);
        await clock.advance(200);
      }
      expect(line.take()).toEqual([reaction === "ack-then-reject" ? ACK : NAK]);
      expect(events).toEqual(
        reaction === "ack-then-reject" ? [expect.stringMatching(/^malformed/)] : [],
      );
    },
  );
});
