import { shownText, textOf } from "../../../../concert/index.ts";
import type { TraceEntry } from "../../trace-log.ts";

/** A body taken apart for people; no card number is in it. */
export type Told = Pick<TraceEntry, "message" | "says" | "fields" | "text" | "note">;

/** Takes the bodies of one family apart for the trace, also those that faults have spoilt. */
export interface MessageReading {
  /** `direction` is seen from the terminal. */
  read(body: Uint8Array, direction: "in" | "out"): Told;
}

/** Stands between two fields of the text, so that their digits are not one number. */
export const BETWEEN_FIELDS = "|";
const CHARACTERS_MAX = 2_048;

/** Bytes that are no message, as far as they can be shown. */
export function shownRest(bytes: Uint8Array): string {
  return shownText(textOf(bytes), CHARACTERS_MAX);
}

/** The facts of a message in one line. */
export function inOneLine(facts: readonly (string | undefined)[]): Pick<Told, "says"> {
  const says = facts.filter((fact) => fact !== undefined).join(", ");
  return says === "" ? {} : { says };
}
