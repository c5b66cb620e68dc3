import { AppError, type Charged, type ErrorCode } from "../../shared/catalog/errors.ts";
import { BrokenInvariant } from "../../shared/invariant.ts";
import { TerminalUnavailable, type UnavailableReason } from "../terminal/terminal.ts";

export class CancelledInTime extends Error {
  override readonly name = "CancelledInTime";
  override readonly message = "cancelled before the terminal was asked to charge";
}

export const unavailableCodes: Record<UnavailableReason, ErrorCode> = {
  disconnected: "TERMINAL_DISCONNECTED",
  "not-registered": "TERMINAL_DISCONNECTED",
  "no-answer": "TERMINAL_NO_ANSWER",
  busy: "TERMINAL_BUSY",
  "out-of-order": "TERMINAL_OUT_OF_ORDER",
  closed: "STOPPING",
};

/** Returns the error to answer if work could not begin; undefined: the program has a fault. */
export function failureOf(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (error instanceof TerminalUnavailable) {
    return new AppError(unavailableCodes[error.reason], error.message, { cause: error });
  }
  if (error instanceof CancelledInTime) return new AppError("PAYMENT_CANCELLED", error.message);
  return undefined;
}

/** Returns the error for a request with a fault in one field. `text`: the error's message. */
export function invalid(
  field: string,
  message: string,
  { text = `${field} ${message}`, charged }: { text?: string; charged?: Charged } = {},
): AppError {
  const details = { faults: [{ field, message }] };
  return new AppError("REQUEST_INVALID", text, { details, ...(charged && { charged }) });
}

/**
 * Runs `work` on the journal and turns its errors into STORAGE_FAILED. `charged` is what is known
 * of the requested order at that time (docs/rules/10-charged.md). `mayBeDone`: what was requested
 * was sent. A broken invariant is no fault of the disk: it is thrown again, and the API answers
 * INTERNAL, which means that the request may have been carried out.
 */
export function storage<T>(work: () => T, charged: Charged, mayBeDone = false): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof BrokenInvariant) throw error;
    throw new AppError("STORAGE_FAILED", undefined, { charged, mayBeDone, cause: error });
  }
}

/** Settles like `work`; if its request may be done already (`mayBeDone`), an error says so. */
export async function afterSent<T>(mayBeDone: boolean, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) error.mayBeDone ||= mayBeDone;
    throw error;
  }
}
