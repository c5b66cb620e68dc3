import { code } from "../machine/sale.ts";
import { languageOfCode } from "../machine/texts.ts";
import type { Command } from "./command.ts";

/** Reset terminal 06 18 (zvt.md 6.4): 80 00, 06 0F, then it restarts. */
export const resetTerminal: Command = {
  control: 0x0618,
  async run(process) {
    await process.accept();
    await process.complete();
    process.parts.reboot();
  },
};

/** Set date and time 06 91 (zvt.md 6.4). */
export const setDateTime: Command = {
  control: 0x0691,
  async run(process) {
    const { parts, request } = process;
    const { dateYYMMDD, time } = request.fields;
    const wanted = moment(dateYYMMDD ?? "", time ?? "");
    if (!wanted) return await process.refuse(code.messageWrong);
    await process.accept();
    parts.clockOffsetMs = wanted.getTime() - parts.clock.now();
    await process.complete();
  },
};

/** Local time; undefined for what no calendar or clock shows. */
function moment(date: string, time: string): Date | undefined {
  const parts = /^(\d\d)(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(`${date}-${time}`)?.slice(1);
  if (!parts) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = parts.map(Number);
  const at = new Date(2000 + year, month - 1, day, hours, minutes, seconds);
  const exists = at.getMonth() === month - 1 && at.getDate() === day && hours < 24 && minutes < 60;
  return exists ? at : undefined;
}

/** Select language 08 30 (zvt.md 6.4); one that the texts do not have changes nothing. */
export const selectLanguage: Command = {
  control: 0x0830,
  whenLocked: true,
  async run(process) {
    const { parts, request } = process;
    parts.language = languageOfCode(request.parts.language ?? 0) ?? parts.language;
    await process.finish();
  },
};

const SPEED_UNKNOWN = 0xfd;

/** Change of speed 08 40 (zvt.md 2.6); TCP and a pseudo-terminal have none to change. */
export const changeSpeed: Command = {
  control: 0x0840,
  whenLocked: true,
  async run(process) {
    const known = [0, 1, 6, 7].includes(process.request.parts.baudCode ?? -1);
    await (known ? process.finish() : process.refuse(SPEED_UNKNOWN));
  },
};
