import { cure } from "../demands.ts";
import { code } from "../machine/sale.ts";
import { languageOfCode } from "../machine/texts.ts";
import { type Command, command, commandWhenLocked } from "./command.ts";

/** Abort 06 B0 with no command running: gives a card back, if there is one (docs/zvt.md 6.6). */
const abort = commandWhenLocked(0x06b0, async (process) => {
  process.parts.readCard = undefined;
  await process.finish();
});

/** Reset terminal 06 18 (docs/zvt.md 6.4): 80 00, 06 0F, then it restarts. */
const resetTerminal = command(0x0618, async (process) => {
  await process.accept();
  await process.complete();
  await process.restart();
});

/** Set date and time 06 91 (docs/zvt.md 6.4). */
const setDateTime = command(0x0691, async (process) => {
  const { parts, request } = process;
  const { dateYYMMDD, time } = request.fields;
  const wanted = moment(dateYYMMDD ?? "", time ?? "");
  if (!wanted) return await process.refuse(code.messageWrong);
  await process.accept();
  parts.now = wanted;
  cure(parts.memory, process.control);
  await process.complete();
});

/** Local time; undefined for what no calendar or clock shows. */
function moment(date: string, time: string): Date | undefined {
  const parts = /^(\d\d)(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(`${date}-${time}`)?.slice(1);
  if (!parts) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = parts.map(Number);
  const at = new Date(2000 + year, month - 1, day, hours, minutes, seconds);
  const exists = at.getMonth() === month - 1 && at.getDate() === day && hours < 24 && minutes < 60;
  return exists ? at : undefined;
}

/** Select language 08 30 (docs/zvt.md 6.4); one that the texts do not have changes nothing. */
const selectLanguage = commandWhenLocked(0x0830, async (process) => {
  const { parts, request } = process;
  parts.language = languageOfCode(request.parts.language ?? 0) ?? parts.language;
  await process.finish();
});

/** Bits per second by the byte of 08 40 (docs/zvt.md 2.6). */
const speedsByCode: Readonly<Record<number, number>> = {
  0: 9_600,
  1: 19_200,
  6: 57_600,
  7: 115_200,
};
const SPEED_UNKNOWN = 0xfd;
const SPEED_IMPOSSIBLE = 0x7d;

/**
 * Change of speed 08 40 (docs/zvt.md 2.6): the answer leaves at the old speed, the new one holds
 * two seconds later. A restart brings the old one back. TCP has none to change.
 */
const changeSpeed = commandWhenLocked(0x0840, async (process) => {
  const { clock, options } = process.parts;
  const speed = speedsByCode[process.request.parts.baudCode ?? -1];
  if (speed === undefined) return await process.refuse(SPEED_UNKNOWN);
  if (!options.speeds.includes(speed)) return await process.refuse(SPEED_IMPOSSIBLE);
  await process.finish();
  const { line } = process;
  clock.startTimer("change of speed", options.pace.speedChangeMs, () => {
    if (!line.closed) line.changeSpeed?.(speed);
  });
});

export const deviceCommands: readonly Command[] = [
  abort,
  resetTerminal,
  setDateTime,
  selectLanguage,
  changeSpeed,
];
