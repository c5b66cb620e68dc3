import { tagValue } from "../../../../zvt/index.ts";
import { clockOf } from "../asks/asks.ts";
import { cure } from "../demands.ts";
import { localTime } from "../machine/local-time.ts";
import type { Parts } from "../machine/parts.ts";
import type { Process } from "../machine/process.ts";
import { code, failByFault } from "../machine/sale.ts";
import { status } from "../machine/texts.ts";
import { print, registerPrints } from "../receipts/printing.ts";
import { centred, plain, type ReceiptLine, spread } from "../receipts/receipt-text.ts";
import { reportTotals } from "../receipts/totals.ts";
import { type Command, command, commandWhenLocked } from "./command.ts";

/** In the completion of an end of day: a software update begins now (docs/zvt.md 6.4). */
const UPDATE_STARTS = 0xe0;
const UPDATE_FORBIDDEN = 0xe0;

/** End of day 06 50 (docs/zvt.md 6.4): totals, receipt, and the turnover is closed. */
const endOfDay = command(0x0650, async (process) => {
  const { memory } = process.parts;
  await work(process);
  const totals = await reportTotals(process, memory.takeTrace());
  memory.closeTurnover();
  cure(memory, process.control);
  await printAdministration(process, "END OF DAY", totals);
  if (!process.parts.is("update-after-end-of-day")) return await process.complete();
  await process.complete({ fields: { resultCode: UPDATE_STARTS } });
  await process.restart();
});

/** Turnover totals 06 10 (docs/zvt.md 6.4): the terminal's own, and nothing is closed. */
const turnoverTotals = command(0x0610, async (process) => {
  await work(process);
  const totals = await reportTotals(process, null);
  await printAdministration(process, "TURNOVER", totals);
  await process.complete();
});

/** Initialisation 06 93 (docs/zvt.md 6.4, 11.5). */
const initialisation = command(0x0693, async (process) => {
  await work(process);
  cure(process.parts.memory, process.control);
  await printAdministration(process, "INITIALISATION", []);
  await process.complete();
});

const SET_REGISTER_TIME = 0x0401;

/**
 * Diagnosis 06 70 (docs/zvt.md 6.4); sets the register's clock where that is permitted (tag 26).
 */
const diagnosis = command(0x0670, async (process) => {
  const { parts, request } = process;
  const named = tagValue(request.tags, "diagnosisType") !== undefined;
  if (!named && parts.is("diagnosis-needs-type")) return await process.refuse(code.messageWrong);
  await work(process);
  cure(parts.memory, process.control);
  if (parts.registration.permitted.has(SET_REGISTER_TIME)) {
    await process.say("set-register-time", clockOf(process));
  }
  await printAdministration(process, "DIAGNOSIS", []);
  await process.complete();
});

/** Selftest 06 79 (docs/zvt.md 6.4). */
const selftest = command(0x0679, async (process) => {
  const { memory, ledger, registration } = process.parts;
  await work(process);
  const tell = (name: string, told: string) => plain(spread(name, told, registration.printerWidth));
  await printAdministration(process, "SELFTEST", [
    tell("Turnover:", String(memory.turnover.length)),
    tell("Bank entries:", String(ledger.entries.length)),
    tell("Due:", memory.demands.join(" ") || "nothing"),
  ]);
  await process.complete();
});

/** Send offline transactions 06 51 (docs/zvt.md 6.4): there never are any, all sales go online. */
const sendOffline = command(0x0651, async (process) => {
  await work(process);
  await process.complete();
});

/**
 * Software update 08 10 (docs/zvt.md 6.4): over a line of its own, so it completes first, and the
 * terminal is away then.
 */
const softwareUpdate = commandWhenLocked(0x0810, async (process) => {
  const { parts } = process;
  await process.accept();
  if (parts.is("no-update")) return await process.abort(UPDATE_FORBIDDEN);
  cure(parts.memory, process.control);
  const { date, time } = localTime(parts.now);
  await process.complete({ fields: { resultCode: 0x00, time, dateYYMMDD: date.slice(2) } });
  await process.restart();
  parts.refusesOnce = parts.is("refuses-after-update");
  parts.zvtOff = parts.is("zvt-off-after-update");
});

/** The lines that 06 1A prints and the service menu shows. */
export function configurationLines(parts: Parts): readonly ReceiptLine[] {
  const { device, options, registration } = parts;
  const { serial, lineSpeed, behaviour, timers } = options;
  const pair = (left: string, right: string) =>
    plain(spread(left, right, registration.printerWidth));
  return [
    pair("Device:", device.name),
    pair("Serial:", device.serialNumber),
    pair("Version:", device.version),
    pair("Contract:", device.contractNumber),
    pair("Currencies:", behaviour.currencies.join(" ")),
    pair("Line:", `${lineSpeed ?? serial?.baudRate ?? 9_600} 8N${serial?.stopBits ?? 2}`),
    pair("T3/T4:", `${timers.t3Ms / 1_000} s/${timers.t4Ms / 1_000} s`),
    pair("Receipt number:", String(parts.memory.nextReceiptNumber)),
    pair("Files:", String(parts.files.size)),
  ];
}

/** Print system configuration 06 1A (docs/zvt.md 6.4). */
const printConfiguration = command(0x061a, async (process) => {
  await process.accept();
  await printAdministration(process, "CONFIGURATION", configurationLines(process.parts));
  await process.complete();
});

/** Accepts, shows that the customer has to wait, and takes the time of such a job. */
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

export const administrationCommands: readonly Command[] = [
  endOfDay,
  turnoverTotals,
  initialisation,
  diagnosis,
  selftest,
  sendOffline,
  softwareUpdate,
  printConfiguration,
];
