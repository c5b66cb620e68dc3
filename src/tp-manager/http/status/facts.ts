import { errorTable } from "../../../shared/catalog/errors.ts";
import type { ResponseOf, supervisorMessages } from "../../../shared/ipc/contract.ts";
import type { TpManagerConditions } from "../../../shared/ipc/status-figures.ts";
import { formatMajor } from "../../../shared/money.ts";
import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { TerminalArbiter } from "../../arbiter/terminal-arbiter.ts";
import type { Attempt, AttemptStep, PaymentRequest } from "../../attempts/payment.ts";
import type { AnswerRows } from "../../journal/answer-rows.ts";
import type { AttemptRows } from "../../journal/attempt-rows.ts";
import type { HandOffRows } from "../../journal/hand-offs/hand-off-rows.ts";
import type { AcknowledgedRows } from "../../journal/operator/acknowledged-rows.ts";
import type { HandOff } from "../../supervisor/hand-off.ts";
import type { StoreGuard } from "../../supervisor/store-guard.ts";
import type { EventHub } from "../events/event-hub.ts";

/** More orders than a trouble counts. */
const STANDING_MAX = 100;
/** Notifications that go elsewhere would be waited for without end (docs/rules/07-returns.md). */
const STANDING_MS = 30 * 86_400_000;

export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;

export interface OwnTroubleParts {
  readonly handOff: Pick<HandOff, "trouble">;
  readonly handOffs: Pick<
    HandOffRows,
    "countPendingHandOffs" | "countRefused" | "standingAtGateway"
  >;
  readonly clock: Pick<Clock, "now">;
  readonly acknowledged: Pick<AcknowledgedRows, "waiting">;
  readonly answers: Pick<AnswerRows, "unreadCharges">;
  readonly arbiter: Pick<TerminalArbiter, "notReadyReasons" | "ambiguousOrders">;
}

/** The parts of tp-manager whose condition `GET /health`, `/metrics` and the alarms tell. */
export interface Watched {
  readonly hub: EventHub;
  readonly arbiter: Pick<
    TerminalArbiter,
    "terminal" | "lease" | "identityCheck" | "notReadyReasons" | "ambiguousOrders"
  >;
  readonly journal: Pick<OwnTroubleParts, "handOffs" | "answers"> & {
    readonly attempts: Pick<AttemptRows, "countInDoubt" | "read"> & {
      onStep: (attempt: Attempt, step: AttemptStep) => void;
    };
    readonly acknowledged: Pick<AcknowledgedRows, "acknowledgedAtMs" | "waiting" | "newestMs">;
  };
  readonly guard: Pick<StoreGuard, "open">;
  readonly handOff: Pick<HandOff, "trouble">;
  /** Rejects when the supervisor does not answer within a short limit. */
  readonly supervisor: () => Promise<SupervisorStatus>;
  readonly dataDirectory: string;
  /** UPDATE_TIME, hh:mm. */
  readonly choresAt: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The facts that both programs give of themselves at one moment. */
export interface Facts {
  /** null: the supervisor does not answer. */
  readonly supervisor: SupervisorStatus | null;
  /** undefined: the journal cannot be read. */
  readonly tpManager: TpManagerConditions | undefined;
  /** null: the journal cannot be read. */
  readonly payments: { readonly inDoubt: number; readonly notHandedOver: number } | null;
}

export async function factsOf({ supervisor, journal, ...others }: Watched): Promise<Facts> {
  const answer = await supervisor().catch(() => null);
  return {
    supervisor: answer,
    tpManager: readOr(undefined, () => ownConditions({ ...others, ...journal })),
    payments: readOr(null, () => ({
      inDoubt: journal.attempts.countInDoubt(),
      notHandedOver: journal.handOffs.countPendingHandOffs(),
    })),
  };
}

/** tp-manager's part of what the table of troubles asks. Throws when the journal cannot be read. */
export function ownConditions(parts: OwnTroubleParts): TpManagerConditions {
  const { handOff, handOffs, answers, clock, arbiter, acknowledged } = parts;
  return {
    handOver: handOff.trouble,
    refusedHandOffs: handOffs.countRefused(),
    standingAtGateway: handOffs.standingAtGateway(clock.now() - STANDING_MS, STANDING_MAX),
    refusedAmounts: arbiter.ambiguousOrders.slice(0, STANDING_MAX).map(({ request }) => ({
      orderId: request.orderId,
      amount: amountOf(request),
    })),
    unmatched: acknowledged.waiting("unmatched"),
    differences: acknowledged.waiting("difference"),
    unreadCharges: answers.unreadCharges(),
    obstacles: arbiter.notReadyReasons.map(({ code, says }) => ({
      code,
      says,
      todo: errorTable[code].action,
    })),
  };
}

function amountOf({ amountMinor, currency }: PaymentRequest): string {
  return `${formatMajor(amountMinor, currency.exponent)} ${currency.alpha}`;
}

/** The value of `read`, or `otherwise` where it throws, so that the other facts stay readable. */
export function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
