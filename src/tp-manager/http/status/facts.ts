import { errorTable } from "../../../shared/catalog/errors.ts";
import type { SupervisorAnswer } from "../../../shared/ipc/contract.ts";
import type { TpManagerConditions } from "../../../shared/ipc/status-figures.ts";
import { formatMajor } from "../../../shared/money.ts";
import { readOr } from "../../../shared/read-or.ts";
import type { Clock } from "../../../shared/time.ts";
import type { TerminalArbiter } from "../../arbiter/terminal-arbiter.ts";
import type { Journal } from "../../journal/journal.ts";
import type { HandOff } from "../../supervisor/hand-off.ts";
import type { StoreGuard } from "../../supervisor/store-guard.ts";
import type { EventHub } from "../events/event-hub.ts";

/** The most orders that one condition counts and names. */
const STANDING_MAX = 100;
/** How long a reversed order is listed that the gateway still has (docs/rules/27-both-sides.md). */
const STANDING_MS = 30 * 86_400_000;

export type SupervisorStatus = SupervisorAnswer<"status">;

/** The parts of tp-manager that give the facts from which its conditions are found. */
export interface Watched {
  readonly arbiter: TerminalArbiter;
  readonly journal: Journal;
  readonly guard: StoreGuard;
  readonly handOff: HandOff;
  readonly hub: EventHub;
  /** Asks for the supervisor's status; rejects if it does not answer within a short limit. */
  readonly supervisor: () => Promise<SupervisorStatus>;
  readonly dataDirectory: string;
  /** The time of the daily chores, UPDATE_TIME, as hh:mm. */
  readonly choresAt: string;
  readonly clock: Clock;
}

export interface Facts {
  /** The supervisor's status; null: it does not answer. */
  readonly supervisor: SupervisorStatus | null;
  /** The facts of tp-manager and its numbers of payments; null: the journal cannot be read. */
  readonly journal: {
    readonly conditions: TpManagerConditions;
    readonly payments: ReturnType<typeof openPayments>;
  } | null;
}

export async function factsOf(watched: Watched): Promise<Facts> {
  const { journal } = watched;
  return {
    supervisor: await watched.supervisor().catch(() => null),
    journal: readOr(null, () => ({
      conditions: ownConditions(watched),
      payments: openPayments(journal),
    })),
  };
}

/** Returns how many payments wait for an outcome or a hand-off. Throws if the journal fails. */
export function openPayments({ attempts, handOffs }: Journal) {
  return { inDoubt: attempts.countInDoubt(), notHandedOver: handOffs.countPendingHandOffs() };
}

/** Returns tp-manager's facts for the table of conditions. Throws if the journal is unreadable. */
export function ownConditions({
  journal: { handOffs, answers, acknowledged },
  handOff,
  clock,
  arbiter,
}: Pick<Watched, "journal" | "handOff" | "clock" | "arbiter">): TpManagerConditions {
  return {
    handOver: handOff.trouble,
    refusedHandOffs: handOffs.countRefused(),
    standingAtGateway: handOffs.standingAtGateway(clock.now() - STANDING_MS, STANDING_MAX),
    refusedAmounts: (arbiter.oneWay?.ambiguousOrders ?? [])
      .slice(0, STANDING_MAX)
      .map(({ request }) => {
        const { orderId, amountMinor, currency } = request;
        const amount = `${formatMajor(amountMinor, currency.exponent)} ${currency.alpha}`;
        return { orderId, amount };
      }),
    unmatched: acknowledged.waiting("unmatched"),
    differences: acknowledged.waiting("difference"),
    unreadCharges: answers.unreadCharges(),
    obstacles: notReadyReasons(arbiter),
  };
}

/** Returns why a payment would be refused now: each reason, and what an operator can do. */
export function notReadyReasons(arbiter: TerminalArbiter) {
  return arbiter.notReadyReasons.map(({ code, says }) => {
    const { action, operator = action } = errorTable[code];
    return { code, says, todo: operator };
  });
}
