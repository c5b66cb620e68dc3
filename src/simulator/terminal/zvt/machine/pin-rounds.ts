import { type CardPin, type Entered, PIN_TRIES_MAX } from "../../pin.ts";
import type { PaymentScript } from "../../scenario.ts";
import type { Process } from "./process.ts";
import { abortedReport } from "./report.ts";
import { askHost, cardWaitMs, code } from "./sale.ts";
import { status } from "./texts.ts";

/**
 * Asks the bank, and once more after each wrong PIN, which is told by a report of its own
 * (docs/zvt.md 11.4). "wrong": the last try was wrong too.
 */
export async function askHostWithPin(
  process: Process,
  pin: CardPin,
  script: PaymentScript,
): Promise<Entered> {
  await askHost(process, script);
  if (process.fault("wrong-pin-first")) {
    await tellWrongPin(process);
    await askHost(process, script);
  }
  let entered = pin.first;
  for (let tries = 1; entered === "wrong" && tries < PIN_TRIES_MAX; tries++) {
    await tellWrongPin(process);
    entered = await process.untilCancelled((signal) => pin.pad.enter(cardWaitMs(process), signal));
    if (entered === "right" || entered === "wrong") await askHost(process, script);
  }
  return entered;
}

async function tellWrongPin(process: Process): Promise<void> {
  await process.status(status.wrongPin);
  await process.report(abortedReport(code.wrongPin, process.parts.device));
}
