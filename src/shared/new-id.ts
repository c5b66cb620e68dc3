import { randomUUID } from "node:crypto";
import { maskPansInText } from "./masking/mask.ts";
import { systemClock } from "./time.ts";

/**
 * A new id without a card number: one UUID in some thousands holds digits that the masking would
 * hide in logs and a request would be refused for (docs/design.md 6.2).
 */
export function newId(make: () => string = timeOrderedUuid): string {
  for (;;) {
    const id = make();
    if (maskPansInText(id) === id) return id;
  }
}

/** Hexadecimal digits of milliseconds in a UUID of version 7. */
const TIME_DIGITS = 12;
const GROUP_DIGITS = 8;
/** Where the random digits of a UUID begin that follow its version. */
const AFTER_VERSION = 15;

/**
 * A UUID of version 7: the time in milliseconds, and 74 random bits. Ids of one hour are neighbours
 * in every index, so that a queue, and a payment in a long journal, reads few pages.
 */
function timeOrderedUuid(): string {
  const time = systemClock.now().toString(16).padStart(TIME_DIGITS, "0");
  const rest = randomUUID().slice(AFTER_VERSION);
  return `${time.slice(0, GROUP_DIGITS)}-${time.slice(GROUP_DIGITS)}-7${rest}`;
}
