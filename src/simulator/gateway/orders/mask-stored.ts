import { containsPan, maskPansInText } from "../../../shared/masking/mask.ts";
import { secretFields } from "../soap/field.ts";
import type { Value } from "../soap/parameters.ts";

/**
 * A parameter as it may be stored: without secrets, and with every text that is a card number
 * masked. Texts that only look like one somewhere inside a longer number stay as they are, or
 * merchants would not find their own references again.
 */
export function maskStored<T extends Value>(value: T): T {
  return mask(value) as T;
}

function mask(value: Value): Value {
  if (value === null) return null;
  if (typeof value === "string") return containsPan(value) ? maskPansInText(value) : value;
  if (Array.isArray(value)) return value.map((item) => mask(item) as never);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !secretFields.has(name))
      .map(([name, inner]) => [name, mask(inner)]),
  );
}
