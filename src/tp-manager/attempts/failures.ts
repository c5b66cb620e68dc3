import { AppError, type Charged, type ErrorCode } from "../../shared/catalog/errors.ts";
import { TerminalUnavailable, type UnavailableReason } from "../terminal/terminal.ts";

/** The kiosk cancelled while the terminal was only being prepared. */
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

/** Why something could not begin; undefined for a fault of this program. */
export function failureOf(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (error instanceof TerminalUnavailable) {
    return new AppError(unavailableCodes[error.reason], error.message, { cause: error });
  }
  if (error instanceof CancelledInTime) return new AppError("PAYMENT_CANCELLED", error.message);
  return undefined;
}

/**
 * Throws STORAGE_FAILED when `work` throws, with what that means for the money
 * (docs/rules/10-charged.md).
 */
export function storage<T>(work: () => T, charged: Charged): T {
  try {
    return work();
  } catch (error) {
    throw new AppError("STORAGE_FAILED", undefined, { charged, cause: error });
  }
}
