import { type Apdu, encodeMessage } from "../../../../zvt/index.ts";

/**
 * Abort 06 B0, docs/zvt.md 6.6. Not a {@link Command}: it leaves while a payment runs, and its
 * answer only says that the request was taken.
 */
export function abort(): Apdu {
  return encodeMessage("abort");
}
