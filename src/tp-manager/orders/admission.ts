import { isDeepStrictEqual } from "node:util";
import { AppError, type Charged } from "../../shared/catalog/errors.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, isApproved, isPaying, type PaymentRequest } from "../attempts/payment.ts";
import { rowOf } from "../attempts/phase-table.ts";
import type { Journal } from "../journal/journal.ts";

/** The setting REPEAT_MUST_MATCH: the members in which a repeated order must equal the first. */
export type RepeatMustMatch = "amount" | "all";

/** What a known order gets. "answer": its stored answer. "ask": the terminal is probed first. */
interface Known {
  readonly way: "answer" | "ask";
  readonly attempt: Attempt;
}

/**
 * Decides about a repeated order (docs/rules/08-finished.md, docs/rules/36-repeated-order.md), and
 * whether a new order may begin. Throws {@link AppError} when the request is refused.
 */
export function admissionOf(
  request: PaymentRequest,
  { attempts, answers }: Journal,
  arbiter: TerminalArbiter,
  mustMatch: RepeatMustMatch,
): Known | { readonly way: "begin" } {
  // The order is read before any refusal, because a refusal such as TERMINAL_BUSY also reports that
  // the order is not charged (docs/rules/10-charged.md).
  const earlier = storage(() => attempts.decisive(request.orderId), "unknown");
  const known = earlier && admissionOfKnown(request, earlier, mustMatch);
  if (known) return known;
  arbiter.lease.assertFree();
  assertAnswerRead(request, answers);
  arbiter.lease.assertNothingInDoubt();
  arbiter.lease.assertWritable();
  assertHolds(request, arbiter.terminal);
  assertDistinguishable(request, arbiter);
  return { way: "begin" };
}

/**
 * Throws NOT_SUPPORTED if the sale must wait for its goods, but the terminal is not in vending mode
 * (docs/design.md 5.12). Checked again when the write-ahead record is written, because a terminal
 * that was disconnected meanwhile may be in another mode.
 */
export function assertHolds(
  { delivery }: PaymentRequest,
  { capabilities }: TerminalArbiter["terminal"],
): void {
  if (!delivery || capabilities.vending) return;
  throw new AppError("NOT_SUPPORTED", "The terminal is not in vending mode.");
}

/**
 * Throws TERMINAL_IN_DOUBT if this sale's result could not be distinguished from one of an order in
 * doubt: the sale too would end in doubt, its customer charged (docs/rules/25-one-way.md).
 */
export function assertDistinguishable(
  { amountMinor }: PaymentRequest,
  { oneWay }: TerminalArbiter,
): void {
  const refused = oneWay && storage(() => oneWay.ambiguousOrders, "unknown");
  const same = refused?.find(({ request }) => request.amountMinor === amountMinor);
  if (!same) return;
  const { orderId } = same.request;
  const message =
    `Order ${orderId} of this amount is in doubt, and results of this terminal may not say which ` +
    "order they are of: an operator settles that order, or another amount is paid.";
  throw new AppError("TERMINAL_IN_DOUBT", message, { details: { orderId } });
}

/** Throws ANSWER_NOT_DELIVERED if an equal sale's answer was not read (docs/rules/11-unread.md). */
function assertAnswerRead(
  { generatedId, amountMinor, currency }: PaymentRequest,
  answers: Journal["answers"],
): void {
  if (!generatedId) return;
  const unread = () => answers.undeliveredGenerated(amountMinor, currency.alpha);
  const orderId = storage(unread, "unknown");
  if (orderId === undefined) return;
  throw new AppError("ANSWER_NOT_DELIVERED", undefined, { details: { orderId } });
}

/** Decides about an order that the journal has; returns undefined if it may begin again. */
function admissionOfKnown(
  request: PaymentRequest,
  earlier: Attempt,
  mustMatch: RepeatMustMatch,
): Known | undefined {
  const { charged, repeat } = rowOf(earlier);
  if (repeat === "begin") return undefined;
  assertSameOrder(request, earlier, charged, mustMatch);
  if (repeat === "answer" || repeat === "ask") return { way: repeat, attempt: earlier };
  throw new AppError(repeat);
}

/** The stored order: an attempt, or a payment that runs and has no baseline yet. */
interface Stored {
  readonly request: PaymentRequest;
  readonly baseline?: Attempt["baseline"];
}

/**
 * Throws ORDER_MISMATCH unless a repeated order has the same amount and currency and, if the setup
 * says so, the same basket, customer and custom data (docs/rules/36-repeated-order.md).
 */
export function assertSameOrder(
  request: PaymentRequest,
  stored: Stored,
  charged: Charged,
  mustMatch: RepeatMustMatch,
): void {
  const earlier = stored.request;
  const sameAmount =
    request.amountMinor === earlier.amountMinor &&
    request.currency.alpha === earlier.currency.alpha;
  const differs = mustMatch === "all" ? differingMembers(request, stored) : [];
  if (sameAmount && differs.length === 0) return;
  const details = { amount: earlier.echo.amount, currency: earlier.currency.alpha };
  throw new AppError("ORDER_MISMATCH", undefined, {
    charged,
    details: differs.length === 0 ? details : { ...details, differs },
  });
}

/**
 * Returns the members in which a request differs from the stored order. A kiosk that counts its
 * order ids from 1 each day may repeat amount and currency, but not the customer's goods. The
 * archive has no such members, so an archived order differs in none.
 */
function differingMembers({ echo }: PaymentRequest, { request, baseline }: Stored) {
  if (request.echo === echo || baseline === null) return [];
  return (["basket", "customer", "customData"] as const).filter(
    (member) => !isDeepStrictEqual(echo[member], request.echo[member]),
  );
}

/** Returns a warning for each member in which a repeated order differs. */
export function differences(request: PaymentRequest, attempt: Attempt): string[] {
  return differingMembers(request, attempt).map(
    (member) => `${member} is not that of the stored order; a new sale needs a new orderId`,
  );
}

/**
 * Returns an attempt as it may be answered: as approved only while the terminal really holds the
 * sale, because a kiosk then gives out the goods. The attempt on disk may still be approved when
 * its outcome was not written, or not received by an earlier process.
 */
export function asAnswered(
  read: Attempt,
  { attempts }: Journal,
  { running }: TerminalArbiter,
): Attempt {
  if (!isApproved(read.state) || running.awaitsGoods(read.request.orderId)) return read;
  const attempt = storage(() => attempts.read(read.transactionId), "unknown") ?? read;
  const { state } = attempt;
  if (!isPaying(state) || !isApproved(state)) return attempt;
  return { ...attempt, state: { ...state, goods: null } };
}

/** Thrown when an earlier attempt has decided the order meanwhile, so no attempt begins. */
class DecidedMeanwhile extends Error {
  readonly attempt: Attempt;

  constructor(attempt: Attempt) {
    super("an earlier attempt decides the order");
    this.attempt = attempt;
  }
}

/**
 * Checks, when the write-ahead record is written, that no late result and no operator's correction
 * has settled an earlier attempt while the terminal was prepared: another command would charge the
 * order twice. Throws an error for {@link attemptThatDecided}; no command was sent then.
 */
export function assertStillOpen(orderId: string, attempts: Journal["attempts"]): void {
  const latest = storage(() => attempts.decisive(orderId), "unknown");
  if (latest && rowOf(latest).repeat !== "begin") throw new DecidedMeanwhile(latest);
}

/** Returns the attempt in the error of {@link assertStillOpen}; throws any other error again. */
export function attemptThatDecided(
  error: unknown,
  request: PaymentRequest,
  mustMatch: RepeatMustMatch,
): Attempt {
  if (!(error instanceof DecidedMeanwhile)) throw error;
  const known = admissionOfKnown(request, error.attempt, mustMatch);
  if (!known) throw error;
  return known.attempt;
}
