import { randomUUID } from "node:crypto";
import { maskPansInText } from "./mask.ts";

/**
 * A new id (UUID, version 4) that nothing takes for a card number: one random UUID in some 3 600
 * holds digits that the masking would hide in logs and refuse in a request (docs/design.md 6.2).
 */
export function newId(make: () => string = randomUUID): string {
  for (;;) {
    const id = make();
    if (maskPansInText(id) === id) return id;
  }
}
