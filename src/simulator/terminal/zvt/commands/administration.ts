import { tagValue } from "../../../../zvt/index.ts";
import { cure } from "../demands.ts";
import { localTime } from "../machine/local-time.ts";
import { print, registerPrints } from "../machine/printing.ts";
import type { Process } from "../machine/process.ts";
import { centred, plain, type ReceiptLine, spread } from "../machine/receipt-text.ts";
import { restart } from "../machine/restart.ts";
import { code, failByFault } from "../machine/sale.ts";
import { status } from "../machine/texts.ts";
import { reportTotals } from "../machine/totals.ts";
import type { Command } from "./command.ts";

/** In the completion of an end of day: a software update begins now (docs/zvt.md 6.4). */
const UPDATE_STARTS = 0xe0;
const UPDATE_FORBIDDEN = 0xe0;

/** End of day 06 50 (docs/zvt.md 6.4): totals, receipt, and the turnover is closed. */
export const endOfDay: Command = {
  control: 0x0650,
  async run(process) {
    const { memory } = process.parts;
    await work(process);
    const totals = await reportTotals(process, memory.takeTrace());
    memory.closeTurnover();
    cure(memory, endOfDay.control);
    await printAdministration(process, "END OF DAY", totals);
    if (!process.parts.is("update-after-end-of-day")) return await process.complete();
    await process.complete({ fields: { resultCode: UPDATE_STARTS } });
    await restart(process);
  },
};

/** Turnover totals 06 10 (docs/zvt.md 6.4): the terminal's own, and nothing is closed. */
export const turnoverTotals: Command = {
  control: 0x0610,
  async run(process) {
    await work(process);
    const totals = await reportTotals(process, null);
    await printAdministration(process, "TURNOVER", totals);
    await process.complete();
  },
};

/** Initialisation 06 93 (docs/zvt.md 6.4, 11.5). */
export const initialisation: Command = {
  control: 0x0693,
  async run(process) {
    await work(process);
    cure(process.parts.memory, initialisation.control);
    await printAdministration(process, "INITIALISATION", []);
    await process.complete();
  },
};

const SET_REGISTER_TIME = 0x0401;

/**
 * Diagnosis 06 70 (docs/zvt.md 6.4); tells the register the time where that is permitted (tag 26).
 */
export const diagnosis: Command = {
  control: 0x0670,
  async run(process) {
    const { parts, request } = process;
    const named = tagValue(request.tags, "diagnosisType") !== undefined;
    if (!named && parts.is("diagnosis-needs-type")) return await process.refuse(code.messageWrong);
    await work(process);
    cure(parts.memory, diagnosis.control);
    if (parts.registration.permitted.has(SET_REGISTER_TIME)) {
      const { date, time } = localTime(parts.now);
      await process.say("set-register-time", { fields: { dateYYMMDD: date.slice(2), time } });
    }
    await printAdministration(process, "DIAGNOSIS", []);
    await process.complete();
  },
};

/** Selftest 06 79 (docs/zvt.md 6.4). */
export const selftest: Command = {
  control: 0x0679,
  async run(process) {
    const { memory, ledger, registration } = process.parts;
    await work(process);
    const tell = (name: string, told: string) =>
      plain(spread(name, told, registration.printerWidth));
    await printAdministration(process, "SELFTEST", [
      tell("Turnover:", String(memory.turnover.length)),
      tell("Bank entries:", String(ledger.entries.length)),
      tell("Due:", memory.demands.join(" ") || "nothing"),
    ]);
    await process.complete();
  },
};

/** Send offline transactions 06 51 (docs/zvt.md 6.4): there never are any, all sales go online. */
export const sendOffline: Command = {
  control: 0x0651,
  async run(process) {
    await work(process);
    await process.complete();
  },
};

/**
 * Software update 08 10 (docs/zvt.md 6.4): over a line of its own, so it completes first, and the
 * terminal is away then.
 */
export const softwareUpdate: Command = {
  control: 0x0810,
  whenLocked: true,
  async run(process) {
    const { parts } = process;
    await process.accept();
    if (parts.is("no-update")) return await process.abort(UPDATE_FORBIDDEN);
    cure(parts.memory, softwareUpdate.control);
    const { date, time } = localTime(parts.now);
    await process.complete({ fields: { resultCode: 0x00, time, dateYYMMDD: date.slice(2) } });
    await restart(process);
    parts.refusesOnce = parts.is("refuses-after-update");
    parts.zvtOff = parts.is("zvt-off-after-update");
  },
};

/** Accepts, tells the customer to wait, and takes the time that such a job takes. */
async function work(process: Process): Promise<void> {
  await process.accept();
  await process.status(status.pleaseWait);
  await failByFault(process);
  await process.pause("administration", process.parts.options.pace.administrationMs);
}

/** Prints on the register's paper, when that is what the register wants. */
export async function printAdministration(
  process: Process,
  title: string,
  lines: readonly ReceiptLine[],
): Promise<void> {
  if (!registerPrints(process, "administration")) return;
  const { device, registration, now } = process.parts;
  const { date, time } = localTime(now);
  await print(process, "administration", [
    centred(`** ${title} **`),
    plain(spread(date, time, registration.printerWidth)),
    plain(spread("Terminal:", device.terminalId, registration.printerWidth)),
    ...lines,
  ]);
}
