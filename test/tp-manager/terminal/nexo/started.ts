import { onTestFinished } from "vitest";
import { nexoProtocol } from "../../../../src/simulator/terminal/nexo/nexo-protocol.ts";
import type { NexoOptions as Simulated } from "../../../../src/simulator/terminal/nexo/options.ts";
import { completed } from "../../../../src/simulator/terminal/options.ts";
import { openTerminal } from "../../../../src/simulator/terminal/terminal-simulator.ts";
import type { NexoOptions } from "../../../../src/tp-manager/terminal/nexo/nexo-options.ts";
import { NexoTerminal } from "../../../../src/tp-manager/terminal/nexo/nexo-terminal.ts";
import type {
  PaymentOrder,
  TransactionReport,
} from "../../../../src/tp-manager/terminal/terminal.ts";
import { PATIENCE_MS } from "../../../support/clocks/patience.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import { nexoOptions } from "../../../support/terminals/nexo-options.ts";

const pace = { customerMs: 0, hostMs: 0, walkAwayMs: 0, rebootMs: 20, cardWaitMs: 2_000 };

/** A simulated terminal of this protocol that answers without delay. */
export async function startedTerminal(behaviour: Partial<Simulated["behaviour"]> = {}) {
  const simulator = await openTerminal(
    nexoProtocol,
    completed(nexoProtocol.defaults, steppedClock, {
      tcp: { host: "127.0.0.1", port: 0 },
      pace,
      behaviour,
    }),
  );
  onTestFinished(() => simulator.close());
  return simulator;
}

type StartedTerminal = Awaited<ReturnType<typeof startedTerminal>>;

/** What the cards have paid in the end, in minor units. */
export const chargedAt = ({ ledger }: StartedTerminal): number => ledger.charged;

/** A driver with the settings of this terminal, but for the given ones. */
export function driverOf(simulator: StartedTerminal, changes: Partial<NexoOptions> = {}) {
  const options = nexoOptions(simulator, changes);
  const driver = new NexoTerminal({ options, clock: steppedClock, log: recordingLog().log });
  onTestFinished(() => driver.close());
  return driver;
}

export const soon = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS);

const REFERENCE = "KTESTTEST7";
export const order = (amountMinor = 1_200, reference = REFERENCE): PaymentOrder => ({
  amountMinor,
  currencyNumeric: "978",
  currencyAlpha: "EUR",
  reference,
});

/** Pays, and returns how the payment ended with what was reported. */
export async function paid(driver: NexoTerminal, asked = order()) {
  const reports: TransactionReport[] = [];
  const end = await driver.pay(asked, {
    report: (report) => {
      reports.push(report);
      return "accept";
    },
    ackArrived: () => {},
    prompt: () => {},
  });
  return { end, reports, report: reports[0] };
}

/** Asks about a payment until the terminal says more than that it runs. */
export async function recalled(driver: NexoTerminal, reference = REFERENCE) {
  const deadline = steppedClock.monotonicMs() + PATIENCE_MS;
  for (;;) {
    const answer = await driver
      .recall({ reference, command: "payment" }, soon())
      .catch((error: unknown) => {
        if (steppedClock.monotonicMs() > deadline) throw error;
      });
    if (answer && answer.kind !== "running") return answer;
    await new Promise((resolve) => steppedClock.startTimer("again", 20, () => resolve(null)));
  }
}
