import { test } from "vitest";
import { encodeFrame } from "../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { fromHex, toHex } from "../../../../src/zvt/index.ts";
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
import { MemoryPort } from "../support/memory-port.ts";
import type { ZvtSimulator } from "../support/start-simulator.ts";
import { startTerminalSimulator } from "../support/start-simulator.ts";
import {
  ABORT,
  authorisation,
  LAST_TRANSACTION,
  REGISTRATION,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
} from "../support/started.ts";

type Kind = "tcp" | "serial";

const INPUTS_PER_TERMINAL = 20;
/** What is said to one input can be no more than this many times what it can hold. */
const ANSWER_BYTES_MAX = 50 * INPUT_BYTES_MAX;
/** Longer than any command lasts with nobody at the other end. */
const ANY_COMMAND_MS = 600_000;

const good = messages(
  "800000",
  "840000",
  "849c00",
  "846600",
  "849d0704000000000100",
  "848300",
  REGISTRATION,
  REGISTRATION_WITHOUT_PRINT,
  "0600 04 000000 be",
  ABORT,
  STATUS,
  "0501 00",
  authorisation(1000),
  authorisation(1005),
  authorisation(1068),
  LAST_TRANSACTION,
  "0601 10 04 000000001000 49 0978 19 40 01 1e 02 03",
  "0622 0a 04 000000002500 49 0978",
  "0623 03 87 ffff",
  "0624 0a 87 0001 04 000000000900",
  "0623 0a 87 0001 04 000000000100",
  "0630 0d 000000 87 0001 04 000000001000",
  "0631 0d 000000 04 000000000300 49 0978",
  "0650 03 000000",
  "0610 03 000000",
  "0670 05 06 03 1b 01 02",
  "0693 03 000000",
  "0618 00",
  "0602 00",
  "061a 00",
  "0691 0b 000000 aa 260115 0c 120000",
  "06e0 08 f0 0a f1 f0 f3 414243",
  "06c0 01 05",
  "0830 01 00",
  "0840 01 07",
  "0810 00",
  "0620 03 000000",
  "0679 00",
  "0fa1 00",
);

function attach(kind: Kind, simulator: ZvtSimulator): MemoryPort {
  const port = new MemoryPort();
  simulator.terminal.connect(port, kind);
  return port;
}

/** One terminal under fire, which must be alive and honest afterwards. */
async function play(kind: Kind, random: Random): Promise<void> {
  const clock = new TestClock();
  const simulator = await startTerminalSimulator({
    tcp: null,
    clock,
    traceEvents: 50,
    behaviour: { messageIds: random.below(2) === 0, receiptNumberCheck: random.below(2) === 0 },
  });
  let port = attach(kind, simulator);
  for (let i = 0; i < INPUTS_PER_TERMINAL; i++) {
    port.arrive(fuzzInput(random, good));
    if (random.below(3) === 0) await clock.advance(random.pick([20, 250, 2_000, 6_000]));
    const { length } = port.take();
    if (length > ANSWER_BYTES_MAX) throw new Error(`${length} bytes in answer to one input`);
    if (!port.isOpen) port = attach(kind, simulator);
  }
  await clock.advance(ANY_COMMAND_MS);
  if (simulator.terminal.running) throw new Error("a command hangs");
  if (!port.isOpen) port = attach(kind, simulator);
  port.take();
  await expectAlive(kind, port, clock);
  expectSound(simulator);
  port.close();
  await clock.advance(ANY_COMMAND_MS);
  await simulator.close();
}

/** It still answers a good command, whatever came before. */
async function expectAlive(kind: Kind, port: MemoryPort, clock: TestClock): Promise<void> {
  const enquiry = fromHex(STATUS.replaceAll(" ", ""));
  port.arrive(kind === "tcp" ? enquiry : encodeFrame(enquiry));
  await clock.advance(0);
  const heard = toHex(port.take());
  // 84 37 00: the bytes before have changed the terminal's password by 06 95.
  const isAlive = ["800000", "843700"].some((answer) =>
    heard.startsWith(kind === "tcp" ? answer : `06${toHex(encodeFrame(fromHex(answer)))}`),
  );
  if (!isAlive) throw new Error(`dead: a status enquiry is answered ${heard}`);
}

/** No card pays for something that the terminal has not stored for good. */
function expectSound({ ledger }: ZvtSimulator): void {
  for (const { id, kind, final } of ledger.entries) {
    if (kind === "charge" && !final && ledger.remaining(id) > 0) {
      throw new Error(`charge ${id} is neither final nor taken back`);
    }
  }
}

test.each(["tcp", "serial"] as const)(
  `no bytes of a register over %s kill the simulator, hang it or let it talk without end, ` +
    `${FUZZ_RUNS} inputs`,
  async (kind) => {
    await withoutGrowth(Math.ceil(FUZZ_RUNS / INPUTS_PER_TERMINAL), async (run) => {
      const seed = FUZZ_SEED + run;
      await play(kind, new Random(seed)).catch((error: unknown) => {
        throw new Error(`seed ${seed} over ${kind}`, { cause: error });
      });
    });
  },
  FUZZ_LIMIT_MS,
);
