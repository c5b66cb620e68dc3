import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** Turnover Totals 06 10, docs/zvt.md 6.4: the totals of an end of day, and nothing is closed. */
export function turnoverTotals(password: string): Command {
  return {
    name: "turnover-totals",
    apdu: encodeMessage("turnover-totals", { parts: { password } }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}
