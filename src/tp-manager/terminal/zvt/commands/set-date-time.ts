import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** Set Date and Time 06 91, docs/zvt.md 6.4: local time. */
export function setDateTime(password: string, nowMs: number): Command {
  const now = new Date(nowMs);
  const digits = (...numbers: readonly number[]): string =>
    numbers.map((number) => String(number).padStart(2, "0")).join("");
  return {
    name: "set-date-time",
    apdu: encodeMessage("set-date-time", {
      parts: { password },
      fields: {
        dateYYMMDD: digits(now.getFullYear() % 100, now.getMonth() + 1, now.getDate()),
        time: digits(now.getHours(), now.getMinutes(), now.getSeconds()),
      },
    }),
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}
