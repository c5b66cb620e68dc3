import { maskPansInText, maskPansInValue } from "../../shared/masking/mask.ts";
import { type Currency, currencyOf, parseAmount } from "../../shared/money.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import { effectOf } from "../operations/gateway-state.ts";
import type { OperationStore } from "../operations/operation-store.ts";
import type { StoreLosses } from "../outbox/store-losses.ts";
import { type FraudEvent, readFraudEvent } from "./fraud-event.ts";
import { type DigestSecret, type MapiNotification, readMapi } from "./mapi-notification.ts";
import type { NotificationTally, NotificationVerdict } from "./notification-tally.ts";

export interface NotificationHandlerParts {
  readonly operations: OperationStore;
  readonly losses: StoreLosses;
  readonly clock: Clock;
  readonly log: Logger;
  /** The gateway may sign with each of these. */
  readonly secrets: readonly DigestSecret[];
  /** Without one no fraud event is taken. */
  readonly fraudSecret: string | undefined;
  /** Counts every verdict, with a reason of ours. */
  readonly tally?: NotificationTally;
  /** Called when a notification about a transaction of the gateway was accepted. */
  readonly onAccepted: (transactionPublicId: string) => void;
}

const AMOUNT_DIGITS_MAX = 12;

/** "taken" or known already; "refused": not genuine, or not about our order; "put-off": later. */
export type Reception = "taken" | "refused" | "put-off";

/** Asked about every message that is genuine, before anything of it is stored. */
type MayStore = () => boolean;

/**
 * Takes a notification: verifies it, compares it with our order, keeps it once, and reports an
 * accepted one to the operations.
 */
export class NotificationHandler {
  readonly #parts: NotificationHandlerParts;
  readonly #refusals: LogThrottle;

  constructor(parts: NotificationHandlerParts) {
    this.#parts = parts;
    this.#refusals = new LogThrottle(parts.clock);
  }

  /** A document of the form field `xml` (docs/gateway.md 3.1). */
  takeOperation(document: Buffer, mayStore: MayStore): Reception {
    const verdict = readMapi(document, this.#parts.secrets);
    if (!verdict.genuine) {
      this.#count(verdictOf(verdict), verdict.why);
      return verdict.alarming
        ? this.#unreadable(verdict.why)
        : this.#refuse("a notification that is not genuine", verdict.why);
    }
    if (!mayStore()) return this.#putOff();
    const { notification, signedWith } = verdict;
    return this.#operation(notification, signedWith, document.toString("utf8"));
  }

  /** The fraud event (docs/gateway.md 4.1). */
  takeFraud(body: Buffer, signature: string | undefined, mayStore: MayStore): Reception {
    const { fraudSecret } = this.#parts;
    const verdict =
      fraudSecret === undefined
        ? ({ genuine: false, why: "NOTIFICATION_SECRET is not set" } as const)
        : readFraudEvent(body, signature, fraudSecret);
    if (!verdict.genuine) {
      const isSigned = verdict.why === "not a fraud event";
      this.#count(isSigned ? "unreadable" : "wrong-signature", `a fraud event: ${verdict.why}`);
      return this.#refuse("a fraud event that is not genuine", verdict.why);
    }
    return mayStore() ? this.#fraud(verdict.event, body.toString("utf8")) : this.#putOff();
  }

  #refuse(what: string, why: string): "refused" {
    const count = this.#refusals.due(`${what}: ${why}`);
    if (count > 0) this.#parts.log.warn({ why, count }, `${what} was refused`);
    return "refused";
  }

  #unreadable(why: string): "refused" {
    const count = this.#refusals.due(why);
    if (count === 0) return "refused";
    const what = `a notification that is most likely the gateway's cannot be taken: ${why}`;
    raiseAlarm(this.#parts.log, "notification-unreadable", { why, count }, what);
    return "refused";
  }

  #operation(
    { fields, freeData, fingerprint }: MapiNotification,
    signedWith: string,
    raw: string,
  ): Reception {
    const { operation = "", status = "", idForMerchant: orderId = "" } = fields;
    const publicId = (fields["transid"] ?? "").toUpperCase();
    const owner = this.#ownerOf(orderId, freeData["transactionId"], {
      amount: fields["origAmount"] ?? "",
      currency: fields["origCurrency"] ?? "",
    });
    const bound = this.#parts.operations.ownerOf(publicId);
    const agrees =
      owner !== undefined &&
      /^[0-9A-Z]{1,32}$/.test(publicId) &&
      (bound === undefined || bound.transactionId === owner.transactionId);
    const currency = owner && currencyOf(owner.currency);
    const refunded = fields["refundedAmount"];
    const isNew = this.#keep({
      fingerprint,
      kind: "operation",
      verdict: agrees ? "accepted" : "mismatch",
      transactionId: agrees ? owner.transactionId : null,
      transactionPublicId: agrees ? publicId : null,
      operation,
      status,
      // An amount that cannot be read counts as 0, not as all: the customer may still be charged.
      amountMinor: refunded && currency ? (minorOf(refunded, currency) ?? 0) : null,
      parsed: masked({ ...fields, freeData }),
      raw: maskPansInText(raw),
    });
    const about = { orderId: maskPansInText(orderId), transactionPublicId: publicId };
    const details = { ...about, operation, status, signedWith };
    if (!agrees) return this.#mismatch(details, isNew);
    this.#accepted(owner, details, isNew);
    return "taken";
  }

  /**
   * Handles an accepted document, also when it is repeated: a crash may have cut the first time.
   */
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
      raiseAlarm(this.#parts.log, "gateway-order-twice", { ...details, ids }, what);
    }
    const effect = effectOf({ ...about, amountMinor: null });
    if (!isNew) log.debug(details, "notified again");
    else if (effect === undefined)
      log.warn(details, "a notification with words that are not known");
    else log.info(details, "notified by the gateway");
    if (isNew && effect === "reversed") {
      raiseAlarm(log, "chargeback-or-fraud", details, "the cardholder's bank took the money back");
    }
    onAccepted(publicId);
  }

  #fraud({ orderId, amount, currency, body, fingerprint }: FraudEvent, raw: string): Reception {
    const { operations, log } = this.#parts;
    // The published sample names no order: such a document is kept, with an alarm.
    const known = orderId !== null && operations.transactionsOf(orderId).length > 0;
    const owner =
      known && amount !== null && currency !== null
        ? this.#ownerOf(orderId, undefined, { amount, currency })
        : undefined;
    const agrees = !known || owner !== undefined;
    const isNew = this.#keep({
      fingerprint,
      kind: "fraud",
      verdict: agrees ? "accepted" : "mismatch",
      transactionId: owner?.transactionId ?? null,
      transactionPublicId: null,
      operation: "fraud",
      status: "reported",
      amountMinor: null,
      parsed: masked(body),
      raw: maskPansInText(raw),
    });
    const details = { orderId, about: fingerprint, operation: "fraud", status: "reported" };
    if (!agrees) return this.#mismatch(details, isNew);
    if (isNew) raiseAlarm(log, "chargeback-or-fraud", details, "the acquirer reported fraud");
    return "taken";
  }

  /** Our transaction of that order, amount and currency; undefined when none or several agree. */
  #ownerOf(
    orderId: string,
    transactionId: string | undefined,
    { amount, currency: alpha }: { readonly amount: string; readonly currency: string },
  ): Transaction | undefined {
    const currency = currencyOf(alpha);
    const amountMinor = currency && minorOf(amount, currency);
    return this.#parts.operations.agreeing(orderId, amountMinor, alpha, transactionId);
  }

  #keep(document: Parameters<OperationStore["notifications"]["add"]>[0]): boolean {
    const { operations, clock } = this.#parts;
    const isNew = operations.notifications.add(document, clock.now());
    if (document.verdict === "accepted") this.#count(isNew ? "accepted" : "repeated", "");
    return isNew;
  }

  #putOff(): "put-off" {
    this.#count("put-off", "");
    return "put-off";
  }

  #count(verdict: NotificationVerdict, why: string): void {
    this.#parts.tally?.count(verdict, why);
  }

  /**
   * While orders may be missing here the document may be about one of them: it has to come again.
   */
  #mismatch(details: Readonly<Record<string, unknown>>, isNew: boolean): "refused" | "put-off" {
    const what = "a verified notification does not agree with our order: not taken";
    if (isNew) raiseAlarm(this.#parts.log, "notification-mismatch", details, what);
    if (!this.#parts.losses.isWhole) return this.#putOff();
    this.#count("mismatch", "not about our order");
    return "refused";
  }
}

function verdictOf({ why, alarming }: { why: string; alarming: boolean }): NotificationVerdict {
  if (why.startsWith("wrong digest")) return "wrong-digest";
  return alarming ? "unreadable" : "malformed";
}

/**
 * An amount with at least two decimals, whatever the currency has (docs/gateway.md 3.1); null:
 * none.
 */
function minorOf(amount: string, currency: Currency): number | null {
  try {
    return parseAmount(amount.trim(), currency, AMOUNT_DIGITS_MAX);
  } catch {
    return null; // an amount that the currency cannot have agrees with none of ours
  }
}

function masked(value: object): Readonly<Record<string, unknown>> {
  return maskPansInValue(value, true) as Record<string, unknown>;
}

const LOGGED_EVERY_MS = 60_000;

/**
 * Limits the lines about refusals: the first of a reason is logged at once, then one a minute with
 * their number. Any sender may cause them, and a line for each would fill the disk.
 */
class LogThrottle {
  readonly #clock: Clock;
  readonly #reasons = new Map<string, { readonly loggedMs: number; count: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many are to be logged now, this one included; 0: none. Reasons are few and fixed. */
  due(reason: string): number {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#reasons.get(reason);
    const count = (last?.count ?? 0) + 1;
    if (last && nowMs - last.loggedMs < LOGGED_EVERY_MS) {
      last.count = count;
      return 0;
    }
    this.#reasons.set(reason, { loggedMs: nowMs, count: 0 });
    return count;
  }
}
