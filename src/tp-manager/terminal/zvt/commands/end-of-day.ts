import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** End of Day 06 50, docs/zvt.md 6.4: the terminal hands its turnover in and reports the totals. */
export function endOfDay(password: string): Command {
  return {
    name: "end-of-day",
    apdu: encodeMessage("end-of-day", { parts: { password } }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}
