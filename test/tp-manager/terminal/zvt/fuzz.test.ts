import { expect, test } from "vitest";
import type { GoodsDecision } from "../../../../src/tp-manager/terminal/terminal.ts";
import {
  decodeApdu,
  decodeMessage,
  fromHex,
  safeHex,
  toHex,
  ZvtCodecError,
} from "../../../../src/tp-manager/terminal/zvt/codec/index.ts";
import { authorisation } from "../../../../src/tp-manager/terminal/zvt/commands/authorisation.ts";
import { registration } from "../../../../src/tp-manager/terminal/zvt/commands/registration.ts";
import { encodeFrame } from "../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { openSerialLink } from "../../../../src/tp-manager/terminal/zvt/link/serial-link.ts";
import { openTcpLink } from "../../../../src/tp-manager/terminal/zvt/link/tcp-link.ts";
import { Session } from "../../../../src/tp-manager/terminal/zvt/session/session.ts";
import { defaultZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { TestClock } from "../../../support/test-clock.ts";
import { goodSale } from "./connected-driver.ts";
import { never, tenEuro } from "./driver.ts";
import { MemoryTransport } from "./link/memory-transport.ts";

/** ZVT_FUZZ_RUNS=1000000 for the size that is run at night; ZVT_FUZZ_SEED repeats a run. */
const RUNS = Number(process.env["ZVT_FUZZ_RUNS"] ?? 20_000);
const SEED = Number(process.env["ZVT_FUZZ_SEED"] ?? 1);
const INPUTS_PER_SESSION = 20;
/** All bytes that one input can hold; what is said to it can be no more than this many times it. */
const INPUT_BYTES_MAX = 400;
const ANSWER_BYTES_MAX = 50 * INPUT_BYTES_MAX;

const timers = { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 };
const sale = { ...tenEuro, goodsWindowSeconds: 40 };

const plain = [
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
  "0401090aa2601150c120000",
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
].map((hex) => fromHex(hex.slice(0, hex.length - (hex.length % 2))));

/** Reproducible chance (mulberry32). */
class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to `below`, excluded. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

/** A good message, a spoilt one, or noise; half of the time as a frame for the serial line. */
function input(chance: Chance): Uint8Array {
  if (chance.below(4) === 0) return chance.bytes(chance.below(INPUT_BYTES_MAX));
  let bytes = Uint8Array.from(chance.pick(plain));
  if (chance.below(2) === 0) bytes = mutated(bytes, chance);
  if (chance.below(2) === 0) bytes = Uint8Array.from(encodeFrame(bytes));
  if (chance.below(4) === 0) bytes = mutated(bytes, chance);
  if (chance.below(3) === 0) bytes = Uint8Array.from([0x06, ...bytes]);
  return bytes;
}

function mutated(bytes: Uint8Array<ArrayBuffer>, chance: Chance): Uint8Array<ArrayBuffer> {
  const at = chance.below(bytes.length + 1);
  const cut = bytes.slice(0, at);
  const rest = bytes.slice(at);
  switch (chance.below(5)) {
    case 0:
      return cut;
    case 1:
      return Uint8Array.from([...cut, chance.below(256), ...rest]);
    case 2:
      return Uint8Array.from([...cut, ...rest.slice(1)]);
    case 3:
      return Uint8Array.from([...cut, ...chance.bytes(chance.below(20)), ...rest]);
    default:
      return Uint8Array.from([...cut, (rest[0] ?? 0) ^ (1 << chance.below(8)), ...rest.slice(1)]);
  }
}

const decisions: readonly GoodsDecision[] = [
  { goods: "issued" },
  { goods: "not-issued" },
  { goods: "partly-issued", amountMinor: 5 },
];

async function openSession(kind: "serial" | "tcp", line: MemoryTransport, clock: TestClock) {
  const quiet = (): void => {};
  return await Session.open(
    {
      transport: line,
      clock,
      timers,
      sessionTimers: timers,
      charset: "cp437",
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      openLink: kind === "serial" ? openSerialLink : openTcpLink,
    },
    { unexpected: quiet, note: quiet, outOfStep: quiet, down: quiet },
    never,
  );
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

/** One payment under fire; answers how it ended. */
async function play(kind: "serial" | "tcp", chance: Chance): Promise<string> {
  const clock = new TestClock();
  const line = new MemoryTransport(kind);
  const session = await openSession(kind, line, clock);
  if (chance.below(2) === 0) await register(kind, line, session);
  let end = "";
  void session
    .run(authorisation(sale, { printerReady: true }), {
      judge: () => chance.pick(["accept", "refuse", "hold"] as const),
    })
    .then((ended) => {
      end = ended.end;
    });
  // Otherwise few would come as far as a report.
  line.arrive(kind === "serial" ? "0610028000001003f51f" : "800000");
  for (let i = 0; i < INPUTS_PER_SESSION; i++) {
    line.arrive(toHex(input(chance)));
    if (chance.below(8) === 0) session.decideGoods(chance.pick(decisions));
    if (chance.below(12) === 0) void session.abort();
    if (chance.below(4) === 0) await clock.advance(chance.pick([50, 250, 6_000, 20_000]));
    const said = line.take().reduce((sum, hex) => sum + hex.length / 2, 0);
    if (said > ANSWER_BYTES_MAX) throw new Error(`${said} bytes in answer to one input`);
  }
  // Whatever was said, the command ends by itself: T4 is at most the 99 minutes of 04 FF.
  for (let i = 0; i < 4 && end === ""; i++) await clock.advance(99 * 60_000 + 40_000);
  if (end === "") throw new Error("the payment hangs");
  await session.close();
  return end;
}

test(`no bytes make decoder and log throw anything but their own errors, ${RUNS} times`, () => {
  const chance = new Chance(SEED);
  const outcomes = { read: 0, refused: 0 };
  for (let run = 0; run < RUNS; run++) {
    const bytes = input(chance);
    try {
      const apdu = decodeApdu(bytes);
      safeHex(apdu);
      decodeMessage(apdu);
      outcomes.read += 1;
    } catch (error) {
      if (!(error instanceof ZvtCodecError)) throw new Error(toHex(bytes), { cause: error });
      outcomes.refused += 1;
    }
  }
  expect(outcomes.read).toBeGreaterThan(RUNS / 10);
  expect(outcomes.refused).toBeGreaterThan(RUNS / 10);
}, 3_600_000);

test.each(["tcp", "serial"] as const)(
  `no bytes make link and session over %s throw, hang or talk without end, ${RUNS} inputs`,
  async (kind) => {
    const ends = new Map<string, number>();
    for (let run = 0; run * INPUTS_PER_SESSION < RUNS / 2; run++) {
      const seed = SEED + run;
      const end = await play(kind, new Chance(seed)).catch((error: unknown) => {
        throw new Error(`seed ${seed} over ${kind}`, { cause: error });
      });
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    expect([...ends.keys()].toSorted()).toEqual(expect.arrayContaining(["completed", "lost"]));
  },
  3_600_000,
);
