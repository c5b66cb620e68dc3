import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  authorisation,
  statusEnquiry,
} from "../../../../../src/tp-manager/terminal/zvt/commands/commands.ts";
import { encodeFrame } from "../../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import {
  type ExchangeListener,
  Session,
} from "../../../../../src/tp-manager/terminal/zvt/session/session.ts";
import { fromHex, toHex } from "../../../../../src/zvt/index.ts";
import { TestClock } from "../../../../support/clocks/test-clock.ts";
import { never, tenEuro } from "../driver.ts";
import { MemoryTransport } from "../link/memory-transport.ts";

const timers = { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 };
const payment = authorisation(tenEuro, { printerReady: false });
const report = "040f022700";
const frame = (apdu: string): string => toHex(encodeFrame(fromHex(apdu)));

let clock: TestClock;
let line: MemoryTransport;
let session: Session;
let notes: string[];

async function open(kind: "serial" | "tcp"): Promise<void> {
  clock = new TestClock();
  line = new MemoryTransport(kind);
  notes = [];
  const quiet = () => {};
  session = await new Session(
    {
      transport: line,
      clock,
      timers,
      charset: () => "cp437",
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet },
    },
    {
      unmatched: () => notes.push("unexpected"),
      note: (text) => notes.push(text),
      outOfSync: (problem) => notes.push(`out of sync: ${problem}`),
      down: (problem) => notes.push(`down ${problem}`),
    },
  ).open(never);
}

const listener: ExchangeListener = {
  message: ({ name }) => notes.push(name),
  judge: () => {
    notes.push("judge");
    return "accept";
  },
  ackArrived: () => notes.push("ACK arrived"),
  unjudged: () => notes.push("unjudged"),
};

/** Starts the payment and stores its end. */
function pay(): { end: string | undefined } {
  const paid: { end: string | undefined } = { end: undefined };
  void session.run(payment, listener).then(({ end }) => {
    paid.end = end;
  });
  return paid;
}

beforeEach(() => open("tcp"));

afterEach(async () => {
  await session.close();
  expect(clock.running).toEqual([]);
});

describe("timers", () => {
  test("T3 runs from the command to its answer", async () => {
    const paid = pay();
    await clock.advance(4_999);
    expect(paid.end).toBeUndefined();
    await clock.advance(1);
    expect(paid.end).toBe("lost");
  });

  test("T4 runs from the answer, and every message of the terminal restarts it", async () => {
    const paid = pay();
    line.arrive("800000");
    for (const apdu of ["04ff010a", report, "06d10140", "04ff01ff"]) {
      await clock.advance(179_999);
      line.arrive(apdu);
    }
    await clock.advance(179_999);
    expect(paid.end).toBeUndefined();
    await clock.advance(1);
    expect(paid.end).toBe("lost");
  });

  test("the time-out byte of 04 FF sets T4 in minutes until the end", async () => {
    const paid = pay();
    line.arrive("800000 04ff020a15");
    await clock.advance(15 * 60_000 - 1);
    line.arrive("04ff010e");
    expect(session.t4Ms).toBe(900_000);
    await clock.advance(15 * 60_000 - 1);
    expect(paid.end).toBeUndefined();
    await clock.advance(1);
    expect(paid.end).toBe("lost");
  });

  test("a time-out byte of zero changes nothing", async () => {
    const paid = pay();
    line.arrive("800000 04ff020a00");
    await clock.advance(179_999);
    expect(paid.end).toBeUndefined();
    await clock.advance(1);
    expect(paid.end).toBe("lost");
  });

  test("after the end T4 is back to its default", async () => {
    pay();
    line.arrive("800000 04ff020a15 060f00");
    await clock.advance(0);
    const paid = pay();
    line.arrive("800000");
    await clock.advance(180_000);
    expect(paid.end).toBe("lost");
  });
});

describe("reports", () => {
  test("the same 04 0F again does not prove that our ACK arrived", async () => {
    const paid = pay();
    line.arrive(`800000 ${report} ${report}`);
    expect(notes).toEqual(["judge", "judge"]);
    line.arrive("06d10141");
    expect(notes).toEqual(["judge", "judge", "ACK arrived", "print-line"]);
    line.arrive("060f00");
    await clock.advance(0);
    expect(paid.end).toBe("completed");
    expect(notes.filter((entry) => entry === "ACK arrived")).toHaveLength(1);
  });

  test("the end itself proves that our ACK arrived", () => {
    pay();
    line.arrive(`800000 ${report} 060f00`);
    expect(notes).toEqual(["judge", "ACK arrived"]);
  });

  test("an abort or another status after a 04 0F proves no ACK", () => {
    // docs/zvt.md 9.1: a terminal that missed our 80 00 reverses, and says so in these ways.
    for (const apdu of ["04ff0105", "040f02276c", "061e016c"]) {
      notes = [];
      pay();
      line.arrive(`800000 ${report} ${apdu}`);
      expect(notes).not.toContain("ACK arrived");
      if (apdu !== "061e016c") line.arrive("061e016c");
    }
  });

  test("an unreadable report is refused without being judged", () => {
    pay();
    line.arrive("800000");
    line.take();
    line.arrive("040f0704000000001a00");
    expect(line.take()).toEqual(["846600"]);
    expect(notes).toEqual([expect.stringContaining("unreadable status-information"), "unjudged"]);
  });

  test("a report before the terminal accepted the command is refused", () => {
    pay();
    line.take();
    line.arrive(report);
    expect(line.take()).toEqual(["846600"]);
    expect(notes).toEqual(["unexpected", "unjudged"]);
  });

  test("a report in a status enquiry is refused, as no payment runs", () => {
    void session.run(statusEnquiry("000000", "container"), listener);
    line.arrive("800000");
    line.take();
    line.arrive(report);
    expect(line.take()).toEqual(["846600"]);
    expect(notes).toEqual(["unexpected"]);
  });
});

describe("an end", () => {
  test("with unreadable last bytes counts as an end", async () => {
    const paid = pay();
    line.arrive("800000 060f0204ff");
    await clock.advance(0);
    expect(paid.end).toBe("completed");
  });

  test("is not an answer to an abort, but the 06 1E that follows it", async () => {
    const paid = pay();
    line.arrive("800000");
    const aborting = session.abort();
    line.arrive("800000");
    expect(await aborting).toEqual({ answer: "taken" });
    expect(paid.end).toBeUndefined();
    line.arrive("061e016c");
    await clock.advance(0);
    expect(paid.end).toBe("aborted");
  });

  test("of the link makes the payment lost", async () => {
    const paid = pay();
    line.arrive("800000");
    line.end();
    await clock.advance(0);
    expect(paid.end).toBe("lost");
    expect(notes).toEqual(["down memory broke"]);
  });

  test("of the link before anything was sent makes the payment not sent", async () => {
    line.end();
    const paid = pay();
    await clock.advance(0);
    expect(paid.end).toBe("not-sent");
  });
});

describe("an abort", () => {
  test("waits until the terminal has accepted the command", () => {
    pay();
    line.take();
    void session.abort();
    expect(line.take()).toEqual([]);
    line.arrive("800000");
    expect(line.take()).toEqual(["06b000"]);
  });

  test("of a command that is refused meanwhile finds nothing running", async () => {
    pay();
    const aborting = session.abort();
    line.arrive("84b100");
    expect(await aborting).toEqual({ answer: "nothing-running" });
  });

  test("that is not answered is given up after T3, and the payment goes on", async () => {
    const paid = pay();
    line.arrive("800000");
    const aborting = session.abort();
    await clock.advance(5_000);
    expect(await aborting).toMatchObject({ answer: "no-answer" });
    expect(paid.end).toBeUndefined();
  });

  test("that is still unanswered after the end stops the next command", async () => {
    pay();
    line.arrive("800000");
    void session.abort();
    line.arrive("061e016c");
    expect(session.isFree).toBe(false);
    await clock.advance(5_000);
    expect(session.isFree).toBe(true);
  });

  test("that is never answered puts the session out of sync, now or at the end", async () => {
    const outOfSync = "out of sync: the terminal never answered an abort";
    pay();
    line.arrive("800000");
    void session.abort();
    line.arrive("061e016c");
    await clock.advance(5_000);
    expect(notes).toEqual([outOfSync]);
    notes = [];
    pay();
    line.arrive("800000");
    void session.abort();
    await clock.advance(5_000);
    expect(notes).toEqual([]);
    line.arrive("061e016c");
    expect(notes).toEqual([outOfSync]);
  });

  test("that is answered late, but before the end, leaves the session in sync", async () => {
    pay();
    line.arrive("800000");
    void session.abort();
    await clock.advance(5_000);
    line.arrive("848300 061e016c");
    expect(notes).toEqual(["the terminal answered without a command: negative-acknowledgement"]);
  });

  test("may be called twice, is sent once, and gives both calls its answer", async () => {
    pay();
    line.arrive("800000");
    line.take();
    const both = Promise.all([session.abort(), session.abort()]);
    expect(line.take()).toEqual(["06b000"]);
    line.arrive("848300");
    expect(await both).toEqual(Array(2).fill({ answer: "refused", code: 0x83 }));
  });
});

describe("on a serial line", () => {
  beforeEach(() => open("serial"));

  test("a payment that never gets its ACK is sent three times and is lost", async () => {
    const paid = pay();
    await clock.advance(15_000);
    expect(line.take()).toHaveLength(3);
    expect(paid.end).toBe("lost");
    await clock.advance(60_000);
    expect(line.take()).toEqual([]);
  });

  test("a refusal after a repeat is lost, as the first copy may be carried out", async () => {
    const paid = pay();
    await clock.advance(5_000);
    expect(line.take()).toHaveLength(2);
    line.arrive(`06 ${frame("849c00")}`);
    await clock.advance(0);
    expect(paid.end).toBe("lost");
  });

  test("a refusal of the only copy that was sent is a refusal", async () => {
    const paid = pay();
    line.arrive(`06 ${frame("849c00")}`);
    await clock.advance(0);
    expect(paid.end).toBe("refused");
  });

  test("an abort waits for our own answer's ACK, and is sent again after a collision", () => {
    pay();
    line.arrive(`06 ${frame("800000")} ${frame("04ff010a")}`);
    line.take();
    void session.abort();
    expect(line.take()).toEqual([]);
    line.arrive("06");
    expect(line.take()).toEqual([frame("06b000")]);
    line.arrive(frame("04ff0104"));
    expect(line.take()).toEqual(["06", frame("800000")]);
    line.arrive("06");
    expect(line.take()).toEqual([frame("06b000")]);
  });

  test("a report that crosses our abort is judged and gets its ACK first", async () => {
    const paid = pay();
    line.arrive(`06 ${frame("800000")}`);
    const aborting = session.abort();
    line.take();
    line.arrive(frame(report));
    expect(line.take()).toEqual(["06", frame("800000")]);
    expect(notes).toContain("judge");
    line.arrive(`06 06 ${frame("848300")}`);
    expect(await aborting).toEqual({ answer: "refused", code: 0x83 });
    line.arrive(frame("060f00"));
    await clock.advance(0);
    expect(paid.end).toBe("completed");
    line.arrive("06");
  });

  test("an answer that never gets its ACK loses the payment", async () => {
    const paid = pay();
    line.arrive(`06 ${frame("800000")} ${frame(report)}`);
    await clock.advance(15_000);
    expect(paid.end).toBe("lost");
  });
});
