import { test } from "vitest";
import {
  caisseApProtocol,
  concertProtocol,
} from "../../../../src/simulator/terminal/concert/concert-protocols.ts";
import type { ConcertOptions } from "../../../../src/simulator/terminal/concert/options.ts";
import { completed } from "../../../../src/simulator/terminal/options.ts";
import { openTerminal } from "../../../../src/simulator/terminal/terminal-simulator.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { withoutGrowth } from "../../../support/heap/without-growth.ts";
import {
  FUZZ_LIMIT_MS,
  FUZZ_RUNS,
  FUZZ_SEED,
  fuzzInput,
  INPUT_BYTES_MAX,
} from "../../../support/inputs/fuzz-input.ts";
import { Random } from "../../../support/inputs/random.ts";
import { MemoryPort } from "../support/memory-port.ts";
import { ACK, ENQ, EOT, frameOf, NAK } from "./support/register.ts";
import { fixedRequest, type Setting, taggedRequest } from "./support/started.ts";

const INPUTS_PER_TERMINAL = 20;
/** What is said to one input can be no more than this many times what it can hold. */
const ANSWER_BYTES_MAX = 50 * INPUT_BYTES_MAX;
/** Longer than any payment lasts with nobody at the other end. */
const ANY_PAYMENT_MS = 600_000;

const settings: readonly Setting[] = [
  { transport: "pty", family: "concert", sessions: true },
  { transport: "pty", family: "caisse-ap", sessions: true },
  { transport: "tcp", family: "caisse-ap", sessions: false },
];

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));
const ping = "CZ0040300CJ012012345678901CA00201CD001I";
const bodies = [
  fixedRequest(1200),
  fixedRequest(1205),
  fixedRequest(1268),
  fixedRequest(0),
  fixedRequest(900, { options: "" }),
  fixedRequest(900, { options: "A011B010" }),
  taggedRequest(1200),
  taggedRequest(1205, { CK: "100" }),
  taggedRequest(700, { BA: "1" }),
  ping,
];
const good = {
  sessions: [
    ENQ,
    ACK,
    NAK,
    EOT,
    ...bodies.map(frameOf),
    ...bodies.map((body) => ENQ + frameOf(body) + EOT),
  ],
  bare: [...bodies, ...bodies.map((body) => `${body}\r\n`)],
};

/** One terminal under fire, which must be alive and honest afterwards. */
async function play(setting: Setting, random: Random): Promise<void> {
  const clock = new TestClock();
  const protocol = setting.family === "concert" ? concertProtocol : caisseApProtocol;
  const given = { sessions: setting.sessions, traceEvents: 50, tcp: null };
  const simulator = await openTerminal(
    protocol,
    completed<ConcertOptions>(protocol.defaults, clock, given),
  );
  const transport = setting.transport === "tcp" ? "tcp" : "serial";
  let port = new MemoryPort();
  const attach = (): void => {
    port = new MemoryPort();
    simulator.terminal.connect(port, transport);
  };
  attach();
  const samples = (setting.sessions ? good.sessions : good.bare).map(bytes);
  for (let i = 0; i < INPUTS_PER_TERMINAL; i++) {
    port.arrive(fuzzInput(random, samples));
    if (random.below(3) === 0) await clock.advance(random.pick([20, 250, 2_000, 6_000]));
    const { length } = port.take();
    if (length > ANSWER_BYTES_MAX) throw new Error(`${length} bytes in answer to one input`);
    if (!port.isOpen) attach();
  }
  await clock.advance(ANY_PAYMENT_MS);
  if (JSON.stringify(simulator.terminal.state()).includes("phase")) throw new Error("it hangs");
  if (!port.isOpen) attach();
  port.take();
  port.arrive(bytes(setting.sessions ? ENQ : ping));
  await clock.advance(200);
  const heard = Buffer.from(port.take()).toString("latin1");
  const alive = setting.sessions ? heard === ACK : heard.endsWith("AE00210");
  if (!alive) throw new Error(`dead: answers ${JSON.stringify(heard)}`);
  port.close();
  await clock.advance(ANY_PAYMENT_MS);
  await simulator.close();
}

test.each(settings)(
  `no bytes kill the terminal of $family, sessions $sessions, hang it or let it talk ` +
    `without end, ${FUZZ_RUNS} inputs`,
  async (setting) => {
    await withoutGrowth(Math.ceil(FUZZ_RUNS / INPUTS_PER_TERMINAL), async (run) => {
      const seed = FUZZ_SEED + run;
      await play(setting, new Random(seed)).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
    });
  },
  FUZZ_LIMIT_MS,
);
