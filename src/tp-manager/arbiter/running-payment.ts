import { AppError } from "../../shared/catalog/errors.ts";
import { CancelledInTime } from "../attempts/failures.ts";
import type { GoodsDecision, HeldTerminal } from "../terminal/terminal.ts";
import type { Inquiries } from "./inquiries.ts";
import type { PaymentRun } from "./payment-run.ts";
import type { TerminalTurn } from "./terminal-turn.ts";

interface RunningParts {
  readonly turn: Pick<TerminalTurn, "held">;
  readonly terminal: Pick<HeldTerminal, "cancel">;
  readonly inquiries: Pick<Inquiries, "isAsking">;
}

/** The payment that has the terminal, for those who have a word for it: none takes a turn. */
export class RunningPayment {
  readonly #parts: RunningParts;

  constructor(parts: RunningParts) {
    this.#parts = parts;
  }

  /** See {@link PaymentRun.decide}. undefined: no payment of that order is on the terminal. */
  decide(orderId: string, decision: GoodsDecision): ReturnType<PaymentRun["decide"]> | undefined {
    const { held } = this.#parts.turn;
    if (held?.orderId !== orderId) return undefined;
    return held.run?.decide(decision, "the kiosk said so");
  }

  /** The terminal holds an approved sale of the order, and no word about its goods was taken. */
  awaitsGoods(orderId: string): boolean {
    const { held } = this.#parts.turn;
    return held?.orderId === orderId && held.run?.goodsAwaitedUntilMs !== undefined;
  }

  /** Resolves when the terminal has taken the request; the payment's own answer decides. */
  async cancel(): Promise<void> {
    const { turn, terminal, inquiries } = this.#parts;
    const { held } = turn;
    if (!terminal.cancel) {
      // A payment that runs or begins may charge its order whatever is answered here.
      const charged = held || inquiries.isAsking ? "unknown" : "no";
      throw new AppError("NOT_SUPPORTED", "This terminal cannot be cancelled.", { charged });
    }
    if (held?.what !== "payment") throw new AppError("NOTHING_TO_CANCEL");
    if (!held.run) {
      held.preparing.abort(new CancelledInTime());
      return;
    }
    const answer = await held.run.cancel();
    switch (answer.answer) {
      case "taken":
        return;
      case "not-able":
      case "nothing-running":
        throw new AppError("NOTHING_TO_CANCEL");
      case "refused":
        throw new AppError("CANCEL_REFUSED", undefined, {
          details: { terminalCode: answer.code, terminalText: answer.text },
        });
      case "no-answer":
        throw new AppError("CANCEL_REFUSED", `The terminal did not answer: ${answer.text}`);
    }
  }
}
