import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** docs/zvt.md 6.4: send the 04 0F of the last transaction, print nothing. */
const STATUS_ONLY = 0x03;

/** Repeat Receipt 06 20 in its recovery form, docs/zvt.md 9.2. Changes nothing at the terminal. */
export function repeatReceipt(password: string): Command {
  return {
    name: "repeat-receipt",
    apdu: encodeMessage("repeat-receipt", {
      parts: { password },
      fields: { serviceByte: STATUS_ONLY },
    }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}
