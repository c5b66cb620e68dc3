import { tagValue } from "../../../../zvt/index.ts";
import type { Language } from "../../options.ts";
import { clockOf } from "../asks.ts";
import { cure } from "../demands.ts";
import { localTime, type Parts } from "../machine/parts.ts";
import { type Command, command, commandWhenLocked, type Process } from "../machine/process.ts";
import { code, failByFault } from "../machine/sale.ts";
import { status } from "../machine/texts.ts";
import { pair, printAdministration, type Receipt, reportTotals } from "../receipts.ts";

export const administrationCommands: readonly Command[] = [
  /** End of day 06 50 (docs/zvt.md 6.4): reports and prints the totals, and clears the turnover. */
  command(0x0650, async (process) => {
    const { memory } = process.parts;
    await work(process);
    const totals = await reportTotals(process, memory.takeTrace());
    memory.closeTurnover();
    cure(memory, process.control);
    await printAdministration(process, "END OF DAY", totals);
    if (!process.parts.is("update-after-end-of-day")) return await process.complete();
    await process.complete({ fields: { resultCode: UPDATE_STARTS } });
    await process.restart();
  }),
  /** Turnover totals 06 10 (docs/zvt.md 6.4): reports the totals and keeps the turnover. */
  job(0x0610, "TURNOVER", (process) => reportTotals(process, null)),
  /** Initialisation 06 93 (docs/zvt.md 6.4, 11.5). */
  job(0x0693, "INITIALISATION"),
  /** Diagnosis 06 70 (docs/zvt.md 6.4): also sets the register's clock if tag 26 permits it. */
  command(0x0670, async (process) => {
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
  }),
  /** Selftest 06 79 (docs/zvt.md 6.4). */
  job(0x0679, "SELFTEST", ({ parts: { memory, ledger } }) => [
    pair("Turnover:", String(memory.turnover.length)),
    pair("Bank entries:", String(ledger.entries.length)),
    pair("Due:", memory.demands.join(" ") || "nothing"),
  ]),
  /** Send offline transactions 06 51 (docs/zvt.md 6.4): there are none, as all sales are online. */
  job(0x0651, null),
  /** Software update 08 10 (docs/zvt.md 6.4): the command completes, then the terminal restarts. */
  commandWhenLocked(0x0810, async (process) => {
    const { parts } = process;
    await process.accept();
    if (parts.is("no-update")) return await process.abort(UPDATE_FORBIDDEN);
    cure(parts.memory, process.control);
    const { date, time } = localTime(parts.now);
    await process.complete({ fields: { resultCode: 0x00, time, dateYYMMDD: date.slice(2) } });
    await process.restart();
    parts.refusesOnce = parts.is("refuses-after-update");
    parts.zvtOff = parts.is("zvt-off-after-update");
  }),
  /** Print system configuration 06 1A (docs/zvt.md 6.4). */
  command(0x061a, async (process) => {
    await process.accept();
    await printAdministration(process, "CONFIGURATION", configurationLines(process.parts));
    await process.complete();
  }),
  /** Abort 06 B0 while no command runs: an inserted card is ejected (docs/zvt.md 6.6). */
  commandWhenLocked(0x06b0, async (process) => {
    process.parts.readCard = undefined;
    await process.finish();
  }),
  /** Reset terminal 06 18 (docs/zvt.md 6.4): the command completes, then the terminal restarts. */
  command(0x0618, async (process) => {
    await process.accept();
    await process.complete();
    await process.restart();
  }),
  /** Set date and time 06 91 (docs/zvt.md 6.4). */
  command(0x0691, async (process) => {
    const { parts, request } = process;
    const { dateYYMMDD, time } = request.fields;
    const wanted = moment(dateYYMMDD ?? "", time ?? "");
    if (!wanted) return await process.refuse(code.messageWrong);
    await process.accept();
    parts.now = wanted;
    cure(parts.memory, process.control);
    await process.complete();
  }),
  /** Select language 08 30 (docs/zvt.md 6.4): for a language without texts nothing changes. */
  commandWhenLocked(0x0830, async (process) => {
    const { parts, request } = process;
    const coded: readonly Language[] = ["de", "en", "fr"];
    parts.language = coded[request.parts.language ?? 0] ?? parts.language;
    await process.finish();
  }),
  /** Change of speed 08 40 (docs/zvt.md 2.6): two seconds after the answer, until a restart. */
  commandWhenLocked(0x0840, async (process) => {
    const { clock, options } = process.parts;
    const speed = speedsByCode[process.request.parts.baudCode ?? -1];
    if (speed === undefined) return await process.refuse(SPEED_UNKNOWN);
    if (!options.speeds.includes(speed)) return await process.refuse(SPEED_IMPOSSIBLE);
    await process.finish();
    const { line } = process;
    clock.startTimer("change of speed", options.pace.speedChangeMs, () => {
      if (!line.closed) line.changeSpeed(speed);
    });
  }),
  /** Set terminal id 06 1B (docs/zvt.md 6.4): possible only while no transaction is stored. */
  command(0x061b, async (process) => {
    const { memory } = process.parts;
    const { terminalId } = process.request.fields;
    // A real terminal lets its user type a missing terminal id; the simulated one has no keys.
    if (terminalId === undefined || !/^\d{8}$/.test(terminalId)) {
      return await process.refuse(code.messageWrong);
    }
    await process.accept();
    if (memory.turnover.length > 0) return await process.abort(code.notPossible);
    memory.set({ terminalId });
    await process.complete();
  }),
  /** Change password 06 95 (docs/zvt.md 6.4): later commands must contain the new password. */
  command(0x0695, async (process) => {
    const { newPassword = "" } = process.request.parts;
    if (!/^\d{6}$/.test(newPassword)) return await process.refuse(code.messageWrong);
    await process.accept();
    process.parts.memory.set({ password: newPassword });
    await process.complete();
  }),
  /** Activate card reader 08 50 (docs/zvt.md 6.4): `GET /state` shows it; there is no motor. */
  commandWhenLocked(0x0850, async (process) => {
    process.parts.reader = process.request.fields.reader ?? 0;
    await process.finish();
  }),
  /** Switch protocol 08 02 (docs/zvt.md 6.4): after it the terminal understands no ZVT command. */
  commandWhenLocked(0x0802, async (process) => {
    await process.finish();
    process.parts.zvtOff = true;
  }),
  /** Service mode 08 01 (docs/zvt.md 6.4, 10.1): the menu is open until the customer hits a key. */
  commandWhenLocked(0x0801, async (process) => {
    const { parts } = process;
    await process.accept();
    await process.status(status.serviceMode);
    await printAdministration(process, "SERVICE", configurationLines(parts));
    await process.parts.customerAction({ wanted: "key", waitMs: null, signal: process.signal });
    await process.complete();
  }),
];

/** The result code of an end of day that begins a software update (docs/zvt.md 6.4). */
const UPDATE_STARTS = 0xe0;
const UPDATE_FORBIDDEN = 0xe0;

const SET_REGISTER_TIME = 0x0401;

function configurationLines(parts: Parts): Receipt {
  const { device, options } = parts;
  const { serial, lineSpeed, behaviour, timers } = options;
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

/** Returns a command that lasts a while and then prints a report; `title` null: no report. */
function job(
  control: number,
  title: string | null,
  lines: (process: Process) => Receipt | Promise<Receipt> = () => [],
): Command {
  return command(control, async (process) => {
    await work(process);
    cure(process.parts.memory, process.control);
    const printed = await lines(process);
    if (title !== null) await printAdministration(process, title, printed);
    await process.complete();
  });
}

/** Accepts a command, displays that the customer has to wait, and waits. */
async function work(process: Process): Promise<void> {
  await process.accept();
  await process.status(status.pleaseWait);
  await failByFault(process);
  await process.pause("administration", process.parts.options.pace.administrationMs);
}

/** Returns date and time of a message as local time; undefined: no such time exists. */
function moment(date: string, time: string): Date | undefined {
  const parts = /^(\d\d)(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(`${date}-${time}`)?.slice(1);
  if (!parts) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = parts.map(Number);
  const at = new Date(2000 + year, month - 1, day, hours, minutes, seconds);
  const exists = at.getMonth() === month - 1 && at.getDate() === day && hours < 24 && minutes < 60;
  return exists ? at : undefined;
}

/** The speeds in bits per second, by the byte that 08 40 sends (docs/zvt.md 2.6). */
const speedsByCode: Record<number, number> = { 0: 9_600, 1: 19_200, 6: 57_600, 7: 115_200 };
const SPEED_UNKNOWN = 0xfd;
const SPEED_IMPOSSIBLE = 0x7d;
