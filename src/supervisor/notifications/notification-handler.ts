import { maskPansInText, maskPansInValue } from "../../shared/masking/mask.ts";
import { currencyOf, parseAmount } from "../../shared/money.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { readOr } from "../../shared/read-or.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { effectOf } from "../operations/gateway-state.ts";
import type { OperationStore } from "../operations/operation-store.ts";
import type { StoreLosses } from "../outbox/store-losses.ts";
import { type FraudEvent, readFraudEvent } from "./fraud-event.ts";
import { type DigestSecret, type MapiNotification, readMapi } from "./mapi-notification.ts";
import { type NotificationTally, type Refusal, refusal } from "./notification-tally.ts";

interface NotificationHandlerParts {
  readonly operations: OperationStore;
  readonly losses: StoreLosses;
  readonly clock: Clock;
  readonly log: AlarmLog;
  readonly secrets: readonly DigestSecret[];
  /** The secret that signs fraud events; undefined: every fraud event is refused. */
  readonly fraudSecret: string | undefined;
  readonly tally: NotificationTally;
  /** Is called after a notification about a transaction of the gateway was accepted. */
  readonly onAccepted: (transactionPublicId: string) => void;
}

const AMOUNT_DIGITS_MAX = 12;
const LOGGED_EVERY_MS = 60_000;

/** "taken": stored now or earlier. "refused": not genuine or not ours. "put-off": to come again. */
export type Reception = "taken" | "refused" | "put-off";

type MayStore = () => boolean;

/** Verifies notifications, compares them with our orders, and stores and logs each once. */
export class NotificationHandler {
  readonly #parts: NotificationHandlerParts;
  /** For each reason of a refusal: when it was last logged, and how often it has occurred since. */
  readonly #refusals = new Map<string, { readonly loggedMs: number; count: number }>();

  constructor(parts: NotificationHandlerParts) {
    this.#parts = parts;
  }

  /** Handles a notification, the document in the form field `xml` (docs/gateway.md 3.1). */
  takeOperation(document: Buffer, mayStore: MayStore): Reception {
    const verdict = readMapi(document, this.#parts.secrets);
    if (!verdict.genuine) return this.#refuse("a notification", verdict);
    if (!mayStore()) return this.#putOff();
    return this.#operation(verdict.notification, verdict.signedWith, document.toString("utf8"));
  }

  /** Handles a fraud event (docs/gateway.md 4.1). */
  takeFraud(body: Buffer, signature: string | undefined, mayStore: MayStore): Reception {
    const { fraudSecret } = this.#parts;
    const verdict =
      fraudSecret === undefined
        ? refusal("wrong-signature", "NOTIFICATION_SECRET is not set")
        : readFraudEvent(body, signature, fraudSecret);
    if (!verdict.genuine) return this.#refuse("a fraud event", verdict, "a fraud event: ");
    return mayStore() ? this.#fraud(verdict.event, body.toString("utf8")) : this.#putOff();
  }

  /**
   * Counts a refusal. Any sender may cause refusals, and a log line for each would fill the disk,
   * so each reason is logged at once and then at most once a minute, with the number since.
   */
  #refuse(what: string, { counted, why, alarming }: Refusal, prefix = ""): "refused" {
    const { log, clock, tally } = this.#parts;
    tally.count(counted, `${prefix}${why}`);
    const nowMs = clock.monotonicMs();
    const last = this.#refusals.get(`${what} ${why}`);
    const count = (last?.count ?? 0) + 1;
    if (last && nowMs - last.loggedMs < LOGGED_EVERY_MS) {
      last.count = count;
      return "refused";
    }
    this.#refusals.set(`${what} ${why}`, { loggedMs: nowMs, count: 0 });
    if (alarming) {
      const text = `${what} that is most likely the gateway's cannot be taken: ${why}`;
      log.error({ alarm: "notification-unreadable", why, count }, text);
    } else log.warn({ why, count }, `${what} was refused, because it is not from the gateway`);
    return "refused";
  }

  #operation(
    { fields, freeData, fingerprint }: MapiNotification,
    signedWith: string,
    raw: string,
  ): Reception {
    const { operations } = this.#parts;
    const { operation = "", status = "", idForMerchant: orderId = "" } = fields;
    const { transid = "", origAmount, origCurrency: currency = "", refundedAmount } = fields;
    const publicId = transid.toUpperCase();
    const amountMinor = minorOf(origAmount, currency);
    const { transactionId } = freeData;
    const owner = operations.agreeing({ orderId, amountMinor, currency, transactionId });
    const bound = operations.ownerOf(publicId);
    const agrees =
      owner !== undefined &&
      /^[0-9A-Z]{1,32}$/.test(publicId) &&
      (bound === undefined || bound.transactionId === owner.transactionId);
    const isNew = this.#keep({
      fingerprint,
      kind: "operation",
      verdict: agrees ? "accepted" : "mismatch",
      transactionId: agrees ? owner.transactionId : null,
      transactionPublicId: agrees ? publicId : null,
      operation,
      status,
      // An unreadable refunded amount counts as 0, because the customer may still be charged.
      amountMinor: refundedAmount && owner ? (minorOf(refundedAmount, currency) ?? 0) : null,
      parsed: masked({ ...fields, freeData }),
      raw: maskPansInText(raw),
    });
    const about = { orderId: maskPansInText(orderId), transactionPublicId: publicId };
    const details = { ...about, operation, status, signedWith };
    const transactionPublicId = maskPansInText(publicId);
    if (!agrees) return this.#mismatch({ ...details, transactionPublicId }, isNew);
    this.#accepted(owner, details, isNew);
    return "taken";
  }

  /** Handles an accepted document, even a repeated one: its first handling may have crashed. */
  #accepted(
    owner: Transaction,
    about: Readonly<Record<"transactionPublicId" | "operation" | "status" | "signedWith", string>>,
    isNew: boolean,
  ): void {
    const { operations, clock, log, onAccepted } = this.#parts;
    const { transactionPublicId: publicId } = about;
    const { transactionId, orderId } = owner;
    const details = { transactionId, ...about, orderId };
    const isNewId = operations.learnId(publicId, transactionId, "notification", clock.now());
    const ids = operations.publicIdsOf(orderId);
    if (isNewId && ids.length > 1) {
      const what = "the gateway has more than one transaction of an order";
      log.error({ alarm: "gateway-order-twice", ...details, ids }, what);
    }
    const effect = effectOf({ ...about, amountMinor: null });
    if (!isNew) log.debug(details, "the gateway repeated a notification");
    else if (effect === undefined)
      log.warn(details, "a notification has an operation or status that is not known");
    else log.info(details, "the gateway notified the outcome of an order");
    if (isNew && effect === "reversed") {
      const what = "the cardholder's bank took the money back";
      log.error({ alarm: "chargeback-or-fraud", ...details }, what);
    }
    onAccepted(publicId);
  }

  #fraud({ orderId, amount, currency, body, fingerprint }: FraudEvent, raw: string): Reception {
    const { operations, losses, log } = this.#parts;
    // The gateway's own sample of a fraud event names no order; such an event raises the alarm too.
    const isKnown = orderId !== null && operations.transactionsOf(orderId).length > 0;
    const amountMinor = minorOf(amount, currency ?? "");
    const owner = operations.agreeing({ orderId, amountMinor, currency });
    const agrees = !isKnown || owner !== undefined;
    const mayBeLost = orderId !== null && !isKnown && !losses.isWhole;
    const isNew = this.#keep({
      fingerprint,
      kind: "fraud",
      verdict: agrees && !mayBeLost ? "accepted" : "mismatch",
      transactionId: owner?.transactionId ?? null,
      transactionPublicId: null,
      operation: "fraud",
      status: "reported",
      amountMinor: null,
      parsed: masked(body),
      raw: maskPansInText(raw),
    });
    const named = orderId === null ? null : maskPansInText(orderId);
    const details = { orderId: named, about: fingerprint, operation: "fraud", status: "reported" };
    if (!agrees) return this.#mismatch(details, isNew);
    if (isNew)
      log.error({ alarm: "chargeback-or-fraud", ...details }, "the acquirer reported fraud");
    return mayBeLost ? this.#putOff() : "taken"; // it comes again, and its order may be back then
  }

  #keep(document: Parameters<OperationStore["notifications"]["add"]>[0]): boolean {
    const { operations, clock, tally } = this.#parts;
    const isNew = operations.notifications.add(document, clock.now());
    if (document.verdict === "accepted") tally.count(isNew ? "accepted" : "repeated", "");
    return isNew;
  }

  #putOff(): "put-off" {
    this.#parts.tally.count("put-off", "");
    return "put-off";
  }

  /** Refuses a document about no order of ours; puts it off if its order may have been lost. */
  #mismatch(details: Readonly<Record<string, unknown>>, isNew: boolean): "refused" | "put-off" {
    const { log, losses, tally } = this.#parts;
    const what = "a verified notification does not agree with our order: not taken";
    if (isNew) log.error({ alarm: "notification-mismatch", ...details }, what);
    if (!losses.isWhole) return this.#putOff();
    tally.count("mismatch", "not about our order");
    return "refused";
  }
}

/**
 * Returns an amount in minor units; the gateway writes two decimals even for yen, which has none
 * (docs/gateway.md 3.1). null: the text is no amount of the currency.
 */
function minorOf(amount: string | null | undefined, alpha: string): number | null {
  const currency = currencyOf(alpha);
  if (!currency) return null;
  return readOr(null, () => parseAmount((amount ?? "").trim(), currency, AMOUNT_DIGITS_MAX));
}

function masked(value: object): Readonly<Record<string, unknown>> {
  return maskPansInValue(value, true) as Record<string, unknown>;
}
