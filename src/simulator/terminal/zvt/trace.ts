import { decodeApdu, messageTitle, safeHex } from "../../../zvt/index.ts";
import type { TraceEntry } from "../trace-log.ts";
import { hasTrueLength } from "./link/apdu-reader.ts";
import type { WireEvent } from "./link/line.ts";

/**
 * The form in which the trace shows a wire event. Some messages can only be read with the command
 * that they answer (docs/zvt.md 6.5), `answering`.
 */
export function traceEntry(event: WireEvent, answering: number | undefined): TraceEntry {
  switch (event.what) {
    case "open":
    case "close":
      return { what: event.what };
    case "ack":
    case "nak":
      return { what: event.what, direction: event.direction };
    case "apdu":
      return {
        what: event.what,
        direction: event.direction,
        ...apduForm(event.apdu, answering),
        ...(event.repeat > 0 ? { repeat: event.repeat } : {}),
      };
    case "speed":
      return { what: event.what, note: event.note };
    default:
      return { what: event.what, direction: event.direction, note: event.note };
  }
}

function apduForm(bytes: Uint8Array, answering: number | undefined) {
  if (!hasTrueLength(bytes)) {
    return { message: "a message with a wrong length", note: `${bytes.length} bytes` };
  }
  const apdu = decodeApdu(bytes);
  const context = answering === undefined ? {} : { answering };
  return { hex: safeHex(apdu, context), message: messageTitle(apdu, context) };
}
