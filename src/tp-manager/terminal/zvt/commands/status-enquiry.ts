import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** docs/zvt.md 6.5: leave the version out and send the container; the safest form of the answer. */
const STATUS_AND_CONTAINER = 0x06;

/** The plain form is understood by every terminal, and asks for the software version too. */
export type StatusForm = "container" | "plain";

/** Status-Enquiry 05 01, docs/zvt.md 6.5. */
export function statusEnquiry(password: string, form: StatusForm): Command {
  return {
    name: "status-enquiry",
    apdu: encodeMessage("status-enquiry", {
      parts: { password },
      ...(form === "container" ? { fields: { serviceByte: STATUS_AND_CONTAINER } } : {}),
    }),
    // The terminal uses the occasion for jobs of its own, an end of day with its totals among them.
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}
