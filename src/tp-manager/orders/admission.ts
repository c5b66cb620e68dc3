import { AppError, type Charged } from "../../shared/errors.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, chargedOf, type PaymentRequest, returnOf } from "../attempts/payment.ts";
import type { TerminalDesk } from "../desk/terminal-desk.ts";

interface AdmissionParts {
  readonly attempts: Pick<AttemptStore, "latest" | "undeliveredGenerated">;
  readonly desk: TerminalDesk;
}

/** The way of a request for an order that is not being paid at this moment. */
type Admission =
  /** A new attempt. */
  | { readonly phase: "begin" }
  /** Answered as it stands. */
  | { readonly phase: "known"; readonly attempt: Attempt }
  /** The terminal has to be asked first. */
  | { readonly phase: "in-doubt"; readonly attempt: Attempt };

/**
 * The table of docs/design.md 5.11 about repeated orders, and what keeps a new one from being
 * begun. Throws {@link AppError} when the request is refused; nothing has been begun then.
 */
export function admissionOf(
  request: PaymentRequest,
  { attempts, desk }: AdmissionParts,
): Admission {
  // Before anything is refused: "busy" says that the order is not charged (docs/design.md 3.10).
  const earlier = storage(() => attempts.latest(request.orderId), "unknown");
  if (earlier && earlier.state.phase !== "not-charged") return known(request, earlier);
  desk.turn.assertFree();
  assertAnswerRead(request, attempts);
  desk.turn.assertNoDoubt();
  if (request.delivery && !desk.terminal.capabilities.vending) {
    throw new AppError("NOT_SUPPORTED", "The terminal is not in vending mode.");
  }
  return { phase: "begin" };
}

/** docs/design.md 3.11. */
function assertAnswerRead(
  { generatedId, amountMinor, currency }: PaymentRequest,
  attempts: AdmissionParts["attempts"],
): void {
  if (!generatedId) return;
  const orderId = storage(
    () => attempts.undeliveredGenerated(amountMinor, currency.alpha),
    "unknown",
  );
  if (orderId !== undefined) {
    throw new AppError("ANSWER_NOT_DELIVERED", undefined, { details: { orderId } });
  }
}

/** An order that is charged, returned, or not known. */
function known(request: PaymentRequest, earlier: Attempt): Admission {
  const { state } = earlier;
  const returned = returnOf(earlier);
  if (state.phase === "reversed" || returned === "all") {
    assertSameOrder(request, earlier.request, "no");
    throw new AppError("ORDER_REVERSED");
  }
  const open = returned === "open";
  assertSameOrder(request, earlier.request, open ? "unknown" : chargedOf(state));
  const asIs = open || state.phase === "charged";
  return { phase: asIs ? "known" : "in-doubt", attempt: earlier };
}

/**
 * An order id stands for one amount and currency, for ever (docs/design.md 5.11). Throws
 * ORDER_MISMATCH.
 */
export function assertSameOrder(
  request: PaymentRequest,
  earlier: PaymentRequest,
  charged: Charged,
): void {
  const same =
    request.amountMinor === earlier.amountMinor &&
    request.currency.alpha === earlier.currency.alpha;
  if (same) return;
  throw new AppError("ORDER_MISMATCH", undefined, {
    charged,
    details: { amount: earlier.echo.amount, currency: earlier.currency.alpha },
  });
}
