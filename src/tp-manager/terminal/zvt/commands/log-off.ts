import { encodeMessage } from "../../../../zvt/index.ts";
import type { Command } from "./command.ts";

/** Log-Off 06 02, docs/zvt.md 6.4: no completion; the terminal may be used by others then. */
export function logOff(): Command {
  return {
    name: "log-off",
    apdu: encodeMessage("log-off"),
    replies: [],
    ends: "answer",
    judged: false,
  };
}
