import { localTime } from "../machine/local-time.ts";
import { print, registerPrints } from "../machine/printing.ts";
import type { Process } from "../machine/process.ts";
import { centred, plain, type ReceiptLine, spread } from "../machine/receipt-text.ts";
import { failByFault } from "../machine/sale.ts";
import { status } from "../machine/texts.ts";
import { reportTotals } from "../machine/totals.ts";
import type { Command } from "./command.ts";

/** End of day 06 50 (zvt.md 6.4): totals, receipt, and the turnover is closed. */
export const endOfDay: Command = {
  control: 0x0650,
  cures: "end-of-day",
  async run(process) {
    const { memory } = process.parts;
    await work(process);
    const totals = await reportTotals(process);
    memory.closeTurnover();
    memory.demand("end-of-day", false);
    await printAdministration(process, "END OF DAY", totals);
    await process.complete();
  },
};

/** Turnover totals 06 10 (zvt.md 6.4): the same, and nothing is closed. */
export const turnoverTotals: Command = {
  control: 0x0610,
  async run(process) {
    await work(process);
    const totals = await reportTotals(process);
    await printAdministration(process, "TURNOVER", totals);
    await process.complete();
  },
};

/** Initialisation 06 93 (zvt.md 6.4, 11.5). */
export const initialisation: Command = {
  control: 0x0693,
  cures: "initialisation",
  async run(process) {
    await work(process);
    process.parts.memory.demand("initialisation", false);
    await printAdministration(process, "INITIALISATION", []);
    await process.complete();
  },
};

const SET_REGISTER_TIME = 0x0401;

/** Diagnosis 06 70 (zvt.md 6.4); tells the register the time where that is permitted (tag 26). */
export const diagnosis: Command = {
  control: 0x0670,
  cures: "diagnosis",
  async run(process) {
    const { parts } = process;
    await work(process);
    parts.memory.demand("diagnosis", false);
    if (parts.registration.permitted.has(SET_REGISTER_TIME)) {
      const { date, time } = localTime(parts.now);
      await process.say("set-register-time", { fields: { dateYYMMDD: date.slice(2), time } });
    }
    await printAdministration(process, "DIAGNOSIS", []);
    await process.complete();
  },
};

/** Jobs that this terminal has nothing to do for: done at once. */
export const emptyJobs: readonly Command[] = [
  0x0651, // send offline transactions
  0x0679, // selftest
  0x0813, // change configuration
].map((control) => ({
  control,
  async run(process) {
    await work(process);
    await process.complete();
  },
}));

/** Print system configuration 06 1A (zvt.md 6.4). */
export const printConfiguration: Command = {
  control: 0x061a,
  async run(process) {
    const { device, behaviour } = process.parts.options;
    const { printerWidth } = process.parts.registration;
    await process.accept();
    await printAdministration(process, "CONFIGURATION", [
      plain(spread("Serial:", device.serialNumber, printerWidth)),
      plain(spread("Version:", device.version, printerWidth)),
      plain(spread("Currencies:", behaviour.currencies.join(" "), printerWidth)),
    ]);
    await process.complete();
  },
};

const UPDATE_FORBIDDEN = 0xe0;

/** Software update 08 10: refused, as many terminals do (zvt.md 6.4). */
export const softwareUpdate: Command = {
  control: 0x0810,
  whenLocked: true,
  async run(process) {
    await process.accept();
    await process.abort(UPDATE_FORBIDDEN);
  },
};

/** Accepts, tells the customer to wait, and takes the time that such a job takes. */
async function work(process: Process): Promise<void> {
  await process.accept();
  await process.status(status.pleaseWait);
  await failByFault(process);
  await process.pause("administration", process.parts.options.pace.administrationMs);
}

async function printAdministration(
  process: Process,
  title: string,
  lines: readonly ReceiptLine[],
): Promise<void> {
  if (!registerPrints(process, "administration")) return;
  const { options, registration, now } = process.parts;
  const { date, time } = localTime(now);
  await print(process, "administration", [
    centred(`** ${title} **`),
    plain(spread(date, time, registration.printerWidth)),
    plain(spread("Terminal:", options.device.terminalId, registration.printerWidth)),
    ...lines,
  ]);
}
