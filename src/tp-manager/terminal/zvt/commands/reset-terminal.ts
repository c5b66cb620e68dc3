import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** Reset Terminal 06 18, docs/zvt.md 6.4: 80 00, 06 0F, then it restarts. */
export function resetTerminal(): Command {
  return {
    name: "reset-terminal",
    apdu: encodeMessage("reset-terminal"),
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}
