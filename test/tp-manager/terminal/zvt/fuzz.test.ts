import { expect, test, vi } from "vitest";
import type { GoodsDecision } from "../../../../src/tp-manager/terminal/terminal.ts";
import {
  authorisation,
  registration,
} from "../../../../src/tp-manager/terminal/zvt/commands/commands.ts";
import { encodeFrame } from "../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { Session } from "../../../../src/tp-manager/terminal/zvt/session/session.ts";
import { defaultZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import {
  decodeApdu,
  decodeMessage,
  fromHex,
  safeHex,
  toHex,
  ZvtCodecError,
} from "../../../../src/zvt/index.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { withoutGrowth } from "../../../support/heap/without-growth.ts";
import {
  FUZZ_LIMIT_MS,
  FUZZ_RUNS,
  FUZZ_SEED,
  fuzzInput,
  INPUT_BYTES_MAX,
  messages,
} from "../../../support/inputs/fuzz-input.ts";
import { Random } from "../../../support/inputs/random.ts";
import { goodSale } from "./connected-driver.ts";
import { never, tenEuro } from "./driver.ts";
import { MemoryTransport } from "./link/memory-transport.ts";

/** How often a message was written in the form that a log may hold. */
const safeForms = vi.hoisted(() => ({ made: 0 }));
vi.mock(import("../../../../src/zvt/log-form.ts"), async (original) => {
  const real = await original();
  const counted: typeof real.safeHex = (...message) => {
    safeForms.made += 1;
    return real.safeHex(...message);
  };
  return { ...real, safeHex: counted };
});

const INPUTS_PER_SESSION = 20;
/** The answer to one input has at most 50 times the bytes of the largest input. */
const ANSWER_BYTES_MAX = 50 * INPUT_BYTES_MAX;

const timers = { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 };
const sale = { ...tenEuro, goodsWindowSeconds: 40 };

const good = messages(
  "800000",
  "848300",
  "849c00",
  "841e026f0978",
  "04ff020a03",
  "04ff120a060f240d070b496e736572742063617264",
  goodSale,
  "040f02276c",
  "040f022737",
  "06d10181",
  "06d1064042656c6567",
  "06d30f060d250b070653746f726e6f090181",
  "040108aa2601150c120000",
  "060f00",
  "060f0227e0",
  "061e016c",
  "061e00",
  "06d800",
  "0fa1020001",
  "80000806061f7303000001",
  "84660806061f7303000002",
  "04ff091706061f7303000002",
  "040f0b270006061f7303000003",
  "06d10c0042656c656706061f7303000003",
  "060f0806061f7303000004",
);

const decisions: readonly GoodsDecision[] = [
  { goods: "issued" },
  { goods: "not-issued" },
  { goods: "partly-issued", amountMinor: 5 },
];

async function openSession(line: MemoryTransport, clock: TestClock, down: () => void = () => {}) {
  const quiet = (): void => {};
  return await new Session(
    {
      transport: line,
      clock,
      timers,
      charset: () => "cp437",
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet },
    },
    { unmatched: quiet, note: quiet, outOfSync: down, down },
  ).open(never);
}

function startPayment(session: Session, random: Random, ended: (end: string) => void): void {
  void session
    .run(authorisation(sale, { printerReady: true }), {
      judge: () => random.pick(["accept", "refuse", "hold"] as const),
    })
    .then(({ end }) => ended(end));
}

/** One input, and now and then a decision, a cancel or a pause. */
async function fire(
  line: MemoryTransport,
  clock: TestClock,
  session: Session,
  random: Random,
): Promise<void> {
  line.arrive(toHex(fuzzInput(random, good)));
  if (random.below(8) === 0) session.decideGoods(random.pick(decisions));
  if (random.below(12) === 0) void session.abort();
  if (random.below(4) === 0) await clock.advance(random.pick([50, 250, 6_000, 20_000]));
  const said = line.take().reduce((sum, hex) => sum + hex.length / 2, 0);
  if (said > ANSWER_BYTES_MAX) throw new Error(`${said} bytes in answer to one input`);
}

/** Half of the terminals number their messages (tag 1F73). */
async function register(kind: "serial" | "tcp", line: MemoryTransport, session: Session) {
  const registered = session.run(registration(defaultZvtOptions));
  for (const hex of ["800000", "060f0806061f7303000000"]) {
    line.arrive(kind === "serial" ? `06${toHex(encodeFrame(fromHex(hex)))}` : hex);
  }
  if (kind === "serial") line.arrive("06");
  expect(await registered).toMatchObject({ end: "completed" });
  await session.whenFree();
  line.take();
}

/** Runs one payment under random input. Returns how it ended. */
async function play(kind: "serial" | "tcp", random: Random): Promise<string> {
  const clock = new TestClock();
  const line = new MemoryTransport(kind);
  const session = await openSession(line, clock);
  if (random.below(2) === 0) await register(kind, line, session);
  let end = "";
  startPayment(session, random, (how) => {
    end = how;
  });
  // Without this answer few payments would reach a report.
  line.arrive(kind === "serial" ? "0610028000001003f51f" : "800000");
  for (let i = 0; i < INPUTS_PER_SESSION; i++) await fire(line, clock, session, random);
  // After any input the command ends by itself: T4 is at most the 99 minutes of 04 FF.
  for (let i = 0; i < 4 && end === ""; i++) await clock.advance(99 * 60_000 + 40_000);
  if (end === "") throw new Error("the payment hangs");
  await session.close();
  if (clock.running.length > 0) throw new Error(`timers still run: ${clock.running}`);
  return end;
}

test(
  `decoder and log throw only their own errors at ${FUZZ_RUNS} random inputs`,
  async () => {
    const random = new Random(FUZZ_SEED);
    const outcomes = { read: 0, refused: 0 };
    const decode = () => {
      const bytes = fuzzInput(random, good);
      try {
        const apdu = decodeApdu(bytes);
        safeHex(apdu);
        decodeMessage(apdu);
        outcomes.read += 1;
      } catch (error) {
        if (!(error instanceof ZvtCodecError)) throw new Error(toHex(bytes), { cause: error });
        outcomes.refused += 1;
      }
    };
    await withoutGrowth(FUZZ_RUNS, decode);
    expect(outcomes.read).toBeGreaterThan(FUZZ_RUNS / 10);
    expect(outcomes.refused).toBeGreaterThan(FUZZ_RUNS / 10);
    expect(safeForms.made).toBeGreaterThanOrEqual(outcomes.read);
  },
  FUZZ_LIMIT_MS,
);

test.each(["tcp", "serial"] as const)(
  `link and session over %s do not throw, hang or send without end at ${FUZZ_RUNS} inputs`,
  async (kind) => {
    safeForms.made = 0;
    const ends = new Map<string, number>();
    await withoutGrowth(Math.ceil(FUZZ_RUNS / INPUTS_PER_SESSION), async (run) => {
      const seed = FUZZ_SEED + run;
      const end = await play(kind, new Random(seed)).catch((error: unknown) => {
        throw new Error(`seed ${seed} over ${kind}`, { cause: error });
      });
      ends.set(end, (ends.get(end) ?? 0) + 1);
    });
    expect([...ends.keys()].toSorted()).toEqual(expect.arrayContaining(["completed", "lost"]));
    // A log without frames does not format any frame.
    expect(safeForms.made).toBe(0);
  },
  FUZZ_LIMIT_MS,
);

test.each(["tcp", "serial"] as const)(
  `noise of ${FUZZ_RUNS} inputs on one link over %s leaks no memory`,
  async (kind) => {
    const random = new Random(FUZZ_SEED);
    const clock = new TestClock();
    const ends = new Map<string, number>();
    let line = new MemoryTransport(kind);
    let session = await openSession(line, clock);
    let running = false;
    await withoutGrowth(FUZZ_RUNS, async () => {
      if (!running && session.isFree) {
        running = true;
        startPayment(session, random, (end) => {
          running = false;
          ends.set(end, (ends.get(end) ?? 0) + 1);
        });
        line.arrive(kind === "serial" ? "0610028000001003f51f" : "800000");
      }
      await fire(line, clock, session, random);
      if (line.isOpen) return;
      // TCP: a message that comes too slowly closes the connection (docs/zvt.md 3.3).
      line = new MemoryTransport(kind);
      session = await openSession(line, clock);
    });
    expect([...ends.keys()].toSorted()).toEqual(expect.arrayContaining(["completed", "lost"]));
  },
  FUZZ_LIMIT_MS,
);
