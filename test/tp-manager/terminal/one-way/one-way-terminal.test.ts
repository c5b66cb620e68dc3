import { describe, expect, test } from "vitest";
import type { FixedReply } from "../../../../src/concert/index.ts";
import { BrokenInvariant } from "../../../../src/shared/invariant.ts";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type {
  Dialogue,
  DialogueListener,
  Opened,
} from "../../../../src/tp-manager/terminal/one-way/dialogue.ts";
import { OneWayTerminal } from "../../../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import type {
  PaymentObserver,
  PaymentOrder,
} from "../../../../src/tp-manager/terminal/terminal.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import { replyHex } from "./session-peer.ts";

const order: PaymentOrder = {
  amountMinor: 999,
  currencyNumeric: "978",
  currencyAlpha: "EUR",
  reference: "K000000000",
};

const heedless = { ackArrived: () => {}, prompt: () => {} };

/** A driver on a line that a test plays. */
function started(line: Partial<Dialogue>, limits: { readonly quietMs?: number } = {}) {
  const clock = new TestClock();
  const { log, lines } = recordingLog();
  let listener: DialogueListener | undefined;
  const dialogue: Dialogue = {
    problem: null,
    isShared: true,
    start: (given) => {
      listener = given;
    },
    open: () => Promise.resolve({ opened: true }),
    leave: () => {},
    send: () => Promise.resolve("taken"),
    ping: () => Promise.resolve({ opened: true }),
    close: () => Promise.resolve(),
    ...line,
  };
  const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
  const driver = new OneWayTerminal({
    messages,
    dialogue,
    clock,
    log,
    waitMs: 210_000,
    quietMs: 190_000,
    silenceMs: 10_000,
    ...limits,
  });
  driver.start();
  const reported = (change: Partial<FixedReply>) =>
    listener?.reply(Buffer.from(replyHex(change), "hex").subarray(1, -2), false);
  return {
    clock,
    driver,
    lines,
    reported,
    sendsNoise: (text: string) => listener?.malformed(text),
  };
}

describe("a line that closed again before the payment", () => {
  test("that cannot be opened in time ends the payment as not sent", async () => {
    const open = (signal: AbortSignal): Promise<Opened> =>
      new Promise((resolve) => {
        const silent = { opened: false, why: "silent", text: "nobody" } as const;
        signal.addEventListener("abort", () => resolve(silent));
      });
    const { clock, driver } = started({ open, send: () => Promise.resolve("lapsed") });
    const paying = driver.pay(order, { ...heedless, report: () => "accept" });
    await clock.advance(60_000);
    expect(await Promise.race([paying, "still waiting"])).toMatchObject({ end: "not-sent" });
  });

  test("brings only results of earlier payments until the request is sent", async () => {
    const opening = Promise.withResolvers<Opened>();
    const sends: ("lapsed" | "taken")[] = ["lapsed", "taken"];
    const { clock, driver, reported } = started({
      open: () => opening.promise,
      send: () => Promise.resolve(sends.shift() ?? "taken"),
    });
    const late: (boolean | null)[] = [];
    driver.takeLateResults(({ report: { good } }) => late.push(good) > 0);
    const own: boolean[] = [];
    const report = ({ good }: { good: boolean }): "accept" => {
      own.push(good);
      return "accept";
    };
    const paying = driver.pay(order, { ...heedless, report });
    await clock.advance(10);
    reported({ status: "7" });
    expect([late, own]).toEqual([[false], []]);
    opening.resolve({ opened: true });
    await clock.advance(10);
    reported({ status: "0", private: "K000000000" });
    expect([(await paying).end, late, own]).toEqual(["completed", [false], [true]]);
  });
});

describe("an approval of an earlier payment, while the line is opened again", () => {
  test("stops the request, and is passed on after the payment's end", async () => {
    const open = (signal: AbortSignal): Promise<Opened> =>
      new Promise((resolve) => {
        const silent = { opened: false, why: "silent", text: "nobody" } as const;
        signal.addEventListener("abort", () => resolve(silent));
      });
    const { clock, driver, reported } = started({ open, send: () => Promise.resolve("lapsed") });
    const late: (boolean | null)[] = [];
    driver.takeLateResults(({ report: { good } }) => late.push(good) > 0);
    const paying = driver.pay(order, { ...heedless, report: () => "accept" });
    await clock.advance(10);
    expect([reported({ private: "" }), late]).toEqual([false, []]);
    expect((await paying).end).toBe("not-sent");
    driver.endWritten();
    expect([reported({ private: "" }), late]).toEqual([true, [true]]);
  });
});

describe("a question of /check", () => {
  test("has its answer before a payment opens the line", async () => {
    const did: string[] = [];
    const asked = Promise.withResolvers<Opened>();
    const { clock, driver } = started({
      ping: async () => {
        did.push("ping");
        const opened = await asked.promise;
        did.push("answer");
        return opened;
      },
      open: () => {
        did.push("open");
        return Promise.resolve({ opened: true });
      },
    });
    const { signal } = new AbortController();
    const checked = driver.check(signal);
    const ready = driver.prepare(signal);
    await clock.advance(1_000);
    expect(did).toEqual(["ping"]);
    asked.resolve({ opened: true });
    await ready;
    expect([(await checked).cr, did]).toEqual(["0", ["ping", "answer", "open"]]);
  });

  test("is not sent between the opening for a payment and its request", async () => {
    let pings = 0;
    const ping = (): Promise<Opened> => {
      pings += 1;
      return Promise.resolve({ opened: true });
    };
    const { clock, driver } = started({ ping });
    const { signal } = new AbortController();
    await driver.prepare(signal);
    expect([(await driver.check(signal)).cr, pings]).toEqual(["1", 0]);
    await clock.advance(10_000);
    expect([(await driver.check(signal)).cr, pings]).toEqual(["0", 1]);
  });

  test("does not replace recovery's question, and is not sent during recovery", async () => {
    let pings = 0;
    const ping = (): Promise<Opened> => {
      pings += 1;
      return Promise.resolve({ opened: true });
    };
    const { clock, driver } = started({ ping });
    const { signal } = new AbortController();
    await clock.advance(400_000);
    expect([(await driver.check(signal)).cr, pings]).toEqual(["0", 1]);
    driver.keepEvidence(true);
    expect([(await driver.check(signal)).cr, pings]).toEqual(["1", 1]);
    await driver.lastTransaction(signal);
    expect(pings).toBe(2);
  });
});

describe("the silence of a recovery run", () => {
  test.each([
    ["of another amount belongs to an earlier payment, and does not end the silence", 500, 1],
    ["of the payment's amount ends the silence", 999, 0],
  ])("a late result without a reference %s", async (_what, amountMinor, pingsAfter) => {
    let pings = 0;
    const ping = (): Promise<Opened> => {
      pings += 1;
      return Promise.resolve({ opened: true });
    };
    const { clock, driver, reported } = started({ ping }, { quietMs: 300_000 });
    driver.takeLateResults(() => true);
    const paying = driver.pay(order, { ...heedless, report: () => "accept" });
    await clock.advance(220_000);
    expect((await paying).end).toBe("lost");
    const { signal } = new AbortController();
    const probed = driver.lastTransaction(signal);
    await clock.advance(1_000);
    expect(reported({ amountMinor, private: "" })).toBe(true);
    await clock.advance(1_000);
    expect(pings).toBe(0);
    expect((await driver.check(signal)).cr).toBe(pingsAfter === 0 ? "0" : "1");
    await clock.advance(100_000);
    await probed;
    expect(pings).toBe(1);
  });
});

describe("the silence before the question of a recovery run (docs/concert.md 4.9)", () => {
  test.each([
    ["without a result ends RECOVERY_SILENCE_MS after the 504", [5_000, 5_001], [0, 1]],
    ["ends with a result after the 504, and no question is sent", [5_000, 60_000], [0, 0]],
  ])("%s", async (what, [before = 0, after = 0], expected) => {
    let pings = 0;
    const ping = (): Promise<Opened> => {
      pings += 1;
      return Promise.resolve({ opened: true });
    };
    const { clock, driver, reported } = started({ ping });
    const late: unknown[] = [];
    driver.takeLateResults(({ report: { good } }) => late.push(good) > 0);
    const paying = driver.pay(order, { ...heedless, report: () => "accept" });
    await clock.advance(210_000);
    expect((await paying).end).toBe("lost");
    const probed = driver.lastTransaction(new AbortController().signal);
    await clock.advance(before);
    const pingsBefore = [pings];
    if (what.startsWith("ends")) expect(reported({ private: "" })).toBe(true);
    await clock.advance(after);
    await probed;
    expect([...pingsBefore, pings]).toEqual(expected);
    expect(late).toEqual(what.startsWith("ends") ? [true] : []);
  });
});

describe("a fault of this program while a result is judged or stored", () => {
  const breaks = (): never => {
    throw new BrokenInvariant("of a test");
  };
  test.each<[string, Partial<PaymentObserver>, "told" | "noise"]>([
    ["whether it is of the payment", { concerns: breaks }, "told"],
    ["the result", { report: breaks }, "told"],
    ["a malformed message", { report: breaks }, "noise"],
  ])("leaves the driver, so that the process stops: %s", async (_, observer, by) => {
    const { clock, driver, lines, reported, sendsNoise } = started({ isShared: false });
    const paying = driver.pay(order, { ...heedless, report: () => "accept", ...observer });
    await clock.advance(1);
    expect(() => (by === "told" ? reported({}) : sendsNoise("noise"))).toThrow(BrokenInvariant);
    // The log says what the terminal will not repeat.
    expect(lines.some((line) => line.includes('"amountMinor":999'))).toBe(by === "told");
    await clock.advance(210_000);
    expect((await paying).end).toBe("lost");
  });
});

describe("a line with endless noise", () => {
  test("fills neither the log nor the journal", async () => {
    const { clock, driver, lines, sendsNoise } = started({});
    let [reported, reports] = [0, 0];
    driver.subscribe(() => {
      reported += 1;
    });
    const paying = driver.pay(order, {
      ...heedless,
      report: () => {
        reports += 1;
        return "accept";
      },
    });
    await clock.advance(1);
    for (let one = 0; one < 1_000; one++) sendsNoise(`noise ${one}`);
    expect([reported, reports, lines.length].every((count) => count < 60)).toBe(true);
    expect(reports).toBeGreaterThan(0);
    await clock.advance(120_000);
    sendsNoise("the last noise");
    await clock.advance(120_000);
    expect(await paying).toMatchObject({
      end: "lost",
      text: expect.stringContaining("the last noise"),
    });
  });
});
