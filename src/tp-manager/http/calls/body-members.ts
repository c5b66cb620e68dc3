import { AppError } from "../../../shared/errors.ts";
import { containsPan } from "../../../shared/mask.ts";

/** The body with no other members than the known ones. */
export function members(
  { body }: { readonly body: Record<string, unknown> | undefined },
  known: readonly string[],
): Record<string, unknown> {
  if (body === undefined) throw new AppError("BODY_NOT_JSON", "The body is missing.");
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown) throw fault(unknown, `is not a known field (known: ${known.join(", ")})`);
  return body;
}

/** A text that is there and holds no card number. */
export function text(field: string, value: unknown): string {
  if (typeof value === "string" && containsPan(value)) {
    throw new AppError("CARD_DATA_REFUSED", `${field} holds what looks like a card number.`);
  }
  if (typeof value === "string" && value !== "") return value;
  throw fault(field, value === undefined ? "is missing" : "must be a text");
}

/** A fault of one field, as `error.details.faults` lists it. */
export function fault(field: string, message: string): AppError {
  return new AppError("REQUEST_INVALID", `${field} ${message}`, {
    details: { faults: [{ field, message }] },
  });
}
