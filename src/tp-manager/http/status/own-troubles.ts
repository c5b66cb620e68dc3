import { errorTable } from "../../../shared/catalog/errors.ts";
import type { TpManagerTroubles } from "../../../shared/catalog/troubles.ts";
import { formatMajor } from "../../../shared/money.ts";
import type { Clock } from "../../../shared/time.ts";
import type { TerminalArbiter } from "../../arbiter/terminal-arbiter.ts";
import type { PaymentRequest } from "../../attempts/payment.ts";
import type { AnswerRows } from "../../journal/answer-rows.ts";
import type { HandOffRows } from "../../journal/hand-off-rows.ts";
import type { SeenRows } from "../../journal/seen-rows.ts";
import type { HandOff } from "../../supervisor/hand-off.ts";

/** More orders than a trouble counts. */
const STANDING_MAX = 100;
/** Notifications that go elsewhere would be waited for without end (docs/rules/07-returns.md). */
const STANDING_MS = 30 * 86_400_000;

export interface OwnTroubleParts {
  readonly handOff: Pick<HandOff, "trouble">;
  readonly handOffs: Pick<
    HandOffRows,
    "countPendingHandOffs" | "countSetAside" | "standingAtGateway"
  >;
  readonly clock: Pick<Clock, "now">;
  readonly seen: Pick<SeenRows, "waiting">;
  readonly answers: Pick<AnswerRows, "unreadCharges">;
  readonly arbiter: Pick<TerminalArbiter, "obstacles" | "refusedBeside">;
}

/** tp-manager's part of what the table of troubles asks. Throws when the journal cannot be read. */
export function ownTroubles(parts: OwnTroubleParts): TpManagerTroubles {
  const { handOff, handOffs, answers, clock, arbiter, seen } = parts;
  return {
    handOver: handOff.trouble,
    refusedHandOffs: handOffs.countSetAside(),
    standingAtGateway: handOffs.standingAtGateway(clock.now() - STANDING_MS, STANDING_MAX),
    refusedAmounts: arbiter.refusedBeside.slice(0, STANDING_MAX).map(({ request }) => ({
      orderId: request.orderId,
      amount: amountOf(request),
    })),
    unmatched: seen.waiting("unmatched"),
    differences: seen.waiting("difference"),
    unreadCharges: answers.unreadCharges(),
    obstacles: arbiter.obstacles.map(({ code, says }) => ({
      code,
      says,
      todo: errorTable[code].action,
    })),
  };
}

function amountOf({ amountMinor, currency }: PaymentRequest): string {
  return `${formatMajor(amountMinor, currency.exponent)} ${currency.alpha}`;
}
