import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** Initialisation 06 93, docs/zvt.md 6.4; the cure of status 51 (docs/zvt.md 11.5). */
export function initialisation(password: string): Command {
  return {
    name: "initialisation",
    apdu: encodeMessage("initialisation", { parts: { password } }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}
