import type { ConcertFaultCode } from "../errors.ts";
import { textOf } from "../latin-text.ts";
import { shownText } from "../masking.ts";

const SHOWN_CHARACTERS = 120;

const words: Partial<Record<ConcertFaultCode, string>> = {
  parity: "bytes with a parity bit: wrong parity setting, see CONCERT_LINE",
  lrc: "a reply with a wrong check byte",
  "no-etx": "a reply with a control byte inside",
  truncated: "a reply that was cut",
  length: "a reply without an end",
};

/** Bytes that are no whole frame, in words, without a card number (docs/concert.md 2.7). */
export function spoiltText(fault: ConcertFaultCode, bytes: Uint8Array): string {
  const what = words[fault] ?? `a reply that cannot be read (${fault})`;
  if (fault === "parity" || bytes.length === 0) return what;
  return `${what}: "${shownText(textOf(bytes), SHOWN_CHARACTERS)}"`;
}
