import { textOf } from "../../../concert/index.ts";
import type { TraceEntry } from "../trace-log.ts";
import type { WireEvent } from "./link/register-line.ts";

/** Digits in a row that may be a card number: none of the other fields has so many. */
const CARD_DIGITS = /\d{13,}|\d{6}[\dX#*]{4,}\d{4}/g;
/** The digits of a card number that may be shown. */
const SHOWN_FIRST = 6;
const SHOWN_LAST = 4;

/** The form in which the trace shows a wire event, without a card number. */
export function traceEntry(event: WireEvent): TraceEntry {
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
        message: shown(event.body),
        ...(event.repeat > 0 ? { repeat: event.repeat } : {}),
      };
    default:
      return { what: event.what, direction: event.direction };
  }
}

function shown(body: Uint8Array): string {
  return textOf(body).replaceAll(
    CARD_DIGITS,
    (digits) =>
      digits.slice(0, SHOWN_FIRST) +
      ".".repeat(digits.length - SHOWN_FIRST - SHOWN_LAST) +
      digits.slice(-SHOWN_LAST),
  );
}
