import { AppError } from "../../shared/errors.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, chargedOf, type PaymentRequest, returnOf } from "../attempts/payment.ts";
import type { TerminalTurn } from "../desk/terminal-turn.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { assertSameOrder } from "./same-order.ts";

export interface AdmissionParts {
  readonly attempts: Pick<AttemptStore, "latest" | "undeliveredGenerated">;
  readonly terminal: Terminal;
  readonly turn: TerminalTurn;
  /** The order that no sale may follow before it was asked about (docs/design.md 3.5). */
  readonly blockedBy: () => string | undefined;
  /** A result that no order asked for is being asked about. */
  readonly strayAsked: () => boolean;
}

/** What becomes of a request for an order that is not being paid at this moment. */
export type Admission =
  /** A new attempt. */
  | { readonly phase: "begin" }
  /** Answered as it stands. */
  | { readonly phase: "known"; readonly attempt: Attempt }
  /** The terminal has to be asked first. */
  | { readonly phase: "in-doubt"; readonly attempt: Attempt };

/**
 * The table of docs/design.md 5.11 about repeated orders, and what keeps a new one from being
 * begun.
 */
export class Admissions {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Throws {@link AppError} when the request is refused; nothing has been begun then. */
  judge(request: PaymentRequest): Admission {
    const { attempts, turn, terminal } = this.#parts;
    // Before anything is refused: "busy" says that the order is not charged (docs/design.md 3.10).
    const earlier = storage(() => attempts.latest(request.orderId), "unknown");
    if (earlier && earlier.state.phase !== "not-charged") return known(request, earlier);
    turn.assertFree();
    this.#assertAnswerRead(request);
    this.assertNoDoubt();
    if (request.delivery && !terminal.capabilities.vending) {
      throw new AppError("NOT_SUPPORTED", "The terminal is not in vending mode.");
    }
    return { phase: "begin" };
  }

  /** docs/design.md 3.5. Throws TERMINAL_IN_DOUBT. */
  assertNoDoubt(): void {
    const orderId = this.#parts.blockedBy();
    if (orderId !== undefined) {
      throw new AppError("TERMINAL_IN_DOUBT", undefined, { details: { orderId } });
    }
    if (this.#parts.strayAsked()) {
      const words = "The terminal reported a sale that no order asked for; it is being asked.";
      throw new AppError("TERMINAL_IN_DOUBT", words);
    }
  }

  /** docs/design.md 3.11. */
  #assertAnswerRead({ generatedId, amountMinor, currency }: PaymentRequest): void {
    if (!generatedId) return;
    const { attempts } = this.#parts;
    const orderId = storage(
      () => attempts.undeliveredGenerated(amountMinor, currency.alpha),
      "unknown",
    );
    if (orderId !== undefined) {
      throw new AppError("ANSWER_NOT_DELIVERED", undefined, { details: { orderId } });
    }
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
