import { randomUUID } from "node:crypto";
import { maskPansInText } from "./masking/mask.ts";
import { systemClock } from "./time.ts";

/**
 * Returns a new id. A UUID whose digits look like a card number, one in some thousands, is made
 * again, because logs would mask it and a request with it would be refused (docs/design.md 6.2).
 */
export function newId(make: () => string = timeOrderedUuid): string {
  for (;;) {
    const id = make();
    if (maskPansInText(id) === id) return id;
  }
}

const TIME_DIGITS = 12;
const GROUP_DIGITS = 8;
/** The position in a UUID after the version's digit, where the random digits begin. */
const AFTER_VERSION = 15;

/**
 * Returns a UUID of version 7: the time in milliseconds and 74 random bits. Ids of one hour are
 * close together in an index, so that queues and payments read few pages of a large database.
 */
function timeOrderedUuid(): string {
  const time = systemClock.now().toString(16).padStart(TIME_DIGITS, "0");
  const rest = randomUUID().slice(AFTER_VERSION);
  return `${time.slice(0, GROUP_DIGITS)}-${time.slice(GROUP_DIGITS)}-7${rest}`;
}
