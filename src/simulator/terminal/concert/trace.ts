import type { TraceEntry } from "../trace-log.ts";
import type { WireEvent } from "./link/register-line.ts";
import type { MessageReading } from "./reading/message-reading.ts";

/** docs/concert.md 2.2 */
const controlWords = {
  enq: { message: "ENQ", says: "asks to speak", hex: "05" },
  ack: { message: "ACK", says: "understood", hex: "06" },
  nak: { message: "NAK", says: "no", hex: "15" },
  eot: { message: "EOT", says: "has said all", hex: "04" },
} as const;

/** The form in which the trace shows a wire event, without a card number. */
export function traceEntry(event: WireEvent, reading: MessageReading): TraceEntry {
  switch (event.what) {
    case "open":
    case "close":
      return { what: event.what };
    case "junk":
      return { what: event.what, direction: "in", note: event.note };
    case "body":
      return {
        what: event.what,
        direction: event.direction,
        ...reading.read(event.body, event.direction),
        ...(event.repeat > 0 ? { repeat: event.repeat } : {}),
      };
    default:
      return { what: event.what, direction: event.direction, ...controlWords[event.what] };
  }
}
