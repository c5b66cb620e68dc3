import type {
  GatewayOperation,
  RequestOf,
  ResponseOf,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import type { GatewayOperations } from "../gateway/gateway-client.ts";
import type { GatewayTransaction, LookupAnswer } from "../gateway/lookup.ts";
import { operationEnd } from "../gateway/operation-request.ts";
import type { StoreLosses } from "../outbox/store-losses.ts";
import { LastDay, mayBeLost, repeatedBy } from "./asked-before.ts";
import {
  failedOperations,
  gatewayHistoryOf,
  gatewayReturns,
  hasOrMayHaveOthers,
  isAtGatewayOnce,
  notifiedEnd,
  refundedBefore,
  returnedOfCopy,
  returnedOfKnown,
  returnedOfOrder,
} from "./gateway-history.ts";
import { OperationLookups, provedByLookup } from "./operation-lookups.ts";
import type { OperationStore, SettledBy } from "./operation-store.ts";

type Messages = typeof supervisorMessages;
type Request<K extends keyof Messages> = RequestOf<Messages, K>;
type Response<K extends keyof Messages> = ResponseOf<Messages, K>;

interface OperationExecutorParts {
  readonly store: OperationStore;
  readonly gateway: GatewayOperations;
  readonly clock: Clock;
  readonly losses: StoreLosses;
  readonly log: Logger;
}

/**
 * The form of the gateway's ids: 13 or 16 hex digits so far, at most 32 characters (docs/gateway.md
 * 2.9).
 */
const publicIdForm = /^[0-9A-Za-z]{1,32}$/;
/** The gateway's own numbers of the v3 interface; they are no ids of the SOAP operations. */
const numberForm = /^\d{12,15}$/;

/**
 * Confirm, cancel and refund: each is on disk before it is sent, is sent once, and one whose answer
 * was lost stays unknown until a notification, a lookup or an operator settles it
 * (docs/rules/07-returns.md). There is one open operation per transaction of the gateway.
 */
export class OperationExecutor {
  readonly #parts: OperationExecutorParts;
  readonly #running = new Map<string, Promise<void>>();
  readonly #abandon = new AbortController();
  readonly #lookups: OperationLookups;
  readonly #lastDay: LastDay;

  constructor(parts: OperationExecutorParts) {
    this.#parts = parts;
    this.#lastDay = new LastDay(parts.clock);
    this.#lookups = new OperationLookups(parts.clock, (id) => this.#lookUpAgain(id));
  }

  /**
   * Operations that a former process was sending are unknown from now on, unless a notification
   * that it had taken says how they ended: the gateway does not repeat that notification. The
   * unknown ones are looked up.
   */
  start(): void {
    const { store, clock, log } = this.#parts;
    const interrupted = store.endInterrupted(clock.now());
    for (const transactionPublicId of store.unknownOnes()) this.notified(transactionPublicId);
    for (const operationId of interrupted) {
      log.warn({ operationId }, "an operation was interrupted");
      if (store.operation(operationId)?.state === "unknown") this.#alarmUnknown(operationId);
    }
    for (const transactionPublicId of store.unknownOnes()) this.#lookups.begin(transactionPublicId);
  }

  /** Abandons the running requests: one that was written already is recorded as unknown. */
  async stop(): Promise<void> {
    this.#abandon.abort(new Error("stopping"));
    await Promise.all(this.#running.values());
    await this.#lookups.stop();
  }

  async resolve(wanted: Request<"gateway-resolve">): Promise<Response<"gateway-resolve">> {
    const { store } = this.#parts;
    if ("orderId" in wanted) {
      const ids = store.publicIdsOf(wanted.orderId);
      const [only] = ids;
      const owner = ids.length === 1 && only ? store.ownerOf(only) : undefined;
      if (only && owner) return this.#found(only, owner);
      const why = only
        ? "the gateway has more than one transaction of this order: name one of them"
        : "no verified notification and no lookup has named the order's transaction yet";
      return { found: false, why, candidates: ids };
    }
    const id = wanted.transactionPublicId.toUpperCase();
    const owner = store.ownerOf(id);
    return owner ? this.#found(id, owner) : await this.#resolveByLookup(id);
  }

  async operate(request: Request<"gateway-operation">): Promise<Response<"gateway-operation">> {
    const { store, clock, losses, log } = this.#parts;
    const { operationId, transactionPublicId, kind, key } = request;
    if (store.operation(operationId)) return await this.end({ operationId });
    if (store.isForbidden(operationId)) {
      throw new Error(`the operation ${operationId} came too late and was closed before`);
    }
    const confirmed = store
      .operationsOf(kind === "confirm" ? [transactionPublicId] : [])
      .find((one) => one.kind === "confirm" && one.state === "done");
    if (confirmed) return this.#answer(confirmed);
    const repeats = repeatedBy(request, this.#lastDay, store, losses);
    if (repeats !== undefined) return { operation: null, repeats };
    const before = key && store.ofKey(key.idempotencyKey)?.operation;
    const isUsed = before !== undefined && before.state !== "not-sent";
    if (isUsed || !store.begin(request, clock.now(), key)) return { operation: null };
    this.#lastDay.add(operationId);
    log.info({ operationId, transactionPublicId, kind }, "asking the gateway");
    const sending = this.#send(request).finally(() => this.#running.delete(operationId));
    this.#running.set(operationId, sending);
    await sending;
    return this.#answer(store.operation(operationId));
  }

  /** The end of an operation. One that never arrived is not carried out if it comes late. */
  async end(request: Request<"gateway-operation-end">): Promise<Response<"gateway-operation-end">> {
    const { operationId, asked } = request;
    const { store, clock, losses } = this.#parts;
    await this.#running.get(operationId);
    const operation = store.operation(operationId);
    if (operation) return this.#answer(operation);
    store.forbid(operationId, clock.now());
    if (!asked) return { operation: null };
    const owner = store.ownerOf(asked.transactionPublicId);
    if (!losses.mayLack(owner?.transactionId)) return { operation: null };
    store.addLost({ operationId, ...asked }, asked.askedAtMs, clock.now());
    const open = store.openOf(asked.transactionPublicId);
    if (open?.operationId === operationId) {
      this.#alarmUnknown(operationId);
      this.#lookups.begin(open.transactionPublicId);
    }
    // Where another operation is open, this one is answered as unknown until that one has ended.
    return this.#answer(open && { ...open, operationId, state: "unknown" });
  }

  /** The operation that a caller asked for with its key, after its end. */
  async ofKey(request: Request<"gateway-key">): Promise<Response<"gateway-key">> {
    const { idempotencyKey, target } = request;
    const { store, losses } = this.#parts;
    await this.#running.get(store.ofKey(idempotencyKey)?.operation.operationId ?? "");
    const known = store.ofKey(idempotencyKey);
    if (!known) return { known: null, mayBeLost: mayBeLost(target, store, losses) };
    const owner = store.ownerOf(known.operation.transactionPublicId);
    const { orderId = null, transactionId = null } = owner ?? {};
    const { orderReturnedMinor } = this.#answer(known.operation);
    const about = { orderId, transactionId, orderReturnedMinor };
    return { known: { ...known, ...about }, mayBeLost: false };
  }

  /** An operator says whether the unknown operation of a transaction was carried out. */
  settle(request: Request<"gateway-settle">): Response<"gateway-settle"> {
    const { transactionPublicId, happened, note } = request;
    const id = transactionPublicId.toUpperCase();
    const open = this.#parts.store.openOf(id);
    if (!open && happened) return { operation: this.#settleCopies(id, note) };
    if (open?.state !== "unknown") return { operation: null };
    const why = `an operator: ${maskPansInText(note)}`;
    return { operation: this.#settle(open, happened ? "done" : "refused", "operator", why) };
  }

  /** Keeps an operator's decision that the gateway has no copies of an order, returned or not. */
  settleOrder({ orderId, note }: Request<"gateway-copies">): Response<"gateway-copies"> {
    const { store } = this.#parts;
    const transactionPublicIds = store.publicIdsOf(orderId);
    const open = store
      .transactionsOf(orderId)
      .find(({ transactionId }) => store.possibleOrders(transactionId) > 0);
    if (!open || !this.#keepNoCopies(open, note)) {
      return { settled: false, transactionId: null, transactionPublicIds };
    }
    const { transactionId } = open;
    const orderReturnedMinor = returnedOfOrder(transactionId, this.#parts.store);
    return { settled: true, transactionId, transactionPublicIds, orderReturnedMinor };
  }

  /** false: nothing is kept, because the item still waits and may make another transaction. */
  #keepNoCopies({ transactionId, orderId }: Transaction, note: string): boolean {
    const { store, clock, log } = this.#parts;
    if (store.copiesPossible(transactionId) === Number.POSITIVE_INFINITY) return false;
    store.settleCopies(transactionId, maskPansInText(note), clock.now());
    log.warn(
      { transactionId, orderId },
      "an operator says that the gateway has no second transaction of the order",
    );
    return true;
  }

  /**
   * Keeps an operator's decision that the gateway has no other transactions of an order that was
   * fully returned. Returns the operation that returned the money; null: nothing was to be settled.
   */
  #settleCopies(transactionPublicId: string, note: string): GatewayOperation | null {
    const { store } = this.#parts;
    const owner = store.ownerOf(transactionPublicId);
    const returned = store
      .operationsOf([transactionPublicId])
      .findLast(({ kind, state }) => kind !== "confirm" && state === "done");
    if (!owner || !returned || !hasOrMayHaveOthers(owner.transactionId, this.#parts.store))
      return null;
    if (returnedOfKnown(owner, this.#parts.store) < owner.amountMinor) return null;
    return this.#keepNoCopies(owner, note) ? returned : null;
  }

  async lookUp(id: string): Promise<Response<"gateway-lookup">> {
    const answer = await this.#lookUp(id);
    if (answer.outcome === "found") {
      const { transaction } = answer.found;
      return { outcome: "found", description: "", transaction: { ...transaction } };
    }
    return { outcome: answer.outcome, description: answer.description, transaction: null };
  }

  /** Settles an unknown operation by the notifications about its transaction, if they suffice. */
  notified(transactionPublicId: string): void {
    const end = notifiedEnd(transactionPublicId, this.#parts.store);
    if (end) this.#settle(end.open, end.state, "notification", "a notification says so");
    this.#alarmFailed(transactionPublicId);
  }

  /** The returned money that was notified after the document number `after`. */
  returns(after: number, limit: number): Response<"gateway-returns"> {
    return gatewayReturns(after, limit, this.#parts.store);
  }

  history(orderId: string): Response<"gateway-history"> {
    return gatewayHistoryOf(orderId, this.#parts.store);
  }

  #found(transactionPublicId: string, owner: Transaction): Response<"gateway-resolve"> {
    const { orderId, transactionId, currency, exponent } = owner;
    const returnedMinor = returnedOfCopy(transactionPublicId, owner, this.#parts.store);
    const where = { orderId, transactionId, currency, exponent, returnedMinor };
    const left = leftOf(owner.amountMinor - returnedMinor);
    return { found: true, transactionPublicId, ...where, ...left, remembers: true };
  }

  #answer(operation: GatewayOperation | undefined): Response<"gateway-operation"> {
    const owner = operation && this.#parts.store.ownerOf(operation.transactionPublicId);
    if (!operation || !owner) return { operation: operation ?? null };
    const { transactionId } = owner;
    const isThereOnce = isAtGatewayOnce(transactionId, this.#parts.store) || undefined;
    const orderReturnedMinor = returnedOfOrder(transactionId, this.#parts.store);
    return { operation, orderReturnedMinor, isThereOnce };
  }

  async #resolveByLookup(id: string): Promise<Response<"gateway-resolve">> {
    const { store, losses } = this.#parts;
    const none = (why: string): Response<"gateway-resolve"> => ({
      found: false,
      why,
      candidates: [],
    });
    if (!publicIdForm.test(id) || numberForm.test(id)) {
      return none("this is no transaction id of the gateway, such as 5CF62325CB217655");
    }
    const answer = await this.#lookUp(id);
    if (answer.outcome !== "found") return none(`the lookup: ${answer.description}`);
    const owner = store.ownerOf(id);
    if (owner) return this.#found(id, owner);
    const { orderId, currency, exponent } = answer.found;
    if (orderId !== null && store.transactionsOf(orderId).length > 0) {
      return none("its amount, currency or order does not agree with our order");
    }
    // The transaction may belong to an order of ours that is missing here, with a return under way.
    if (!losses.isWhole) return none("supervisor.db was lost, and not all orders are back yet");
    if (currency === null) return none("the lookup names no currency");
    const of = { orderId: null, transactionId: null, currency, exponent };
    const { amountMinor, capturedMinor, refundedMinor } = answer.found;
    const left = leftOf((capturedMinor ?? amountMinor ?? 0) - (refundedMinor ?? 0));
    return { found: true, transactionPublicId: id, ...of, ...left, remembers: true };
  }

  /**
   * Looks up an unknown operation by itself. Such a lookup proves only that the operation was
   * carried out. true: it is still open.
   */
  async #lookUpAgain(publicId: string): Promise<boolean> {
    const { store, gateway } = this.#parts;
    if (store.openOf(publicId)?.state !== "unknown") return false;
    const answer = await gateway.lookUp(publicId, this.#abandon.signal);
    if (answer.outcome === "found") this.#settleByLookup(publicId, answer.found, "done");
    return store.openOf(publicId) !== undefined;
  }

  async #lookUp(id: string): Promise<LookupAnswer> {
    const { gateway } = this.#parts;
    const answer = await gateway.lookUp(id, this.#abandon.signal);
    const publicId = id.toUpperCase();
    if (answer.outcome === "found" && publicIdForm.test(id) && !numberForm.test(id)) {
      this.#learn(publicId, answer.found);
      this.#settleByLookup(publicId, answer.found);
    }
    return answer;
  }

  #learn(publicId: string, found: GatewayTransaction): void {
    const { store, clock, log } = this.#parts;
    const { amountMinor, currency } = found;
    const owner =
      found.orderId === null
        ? undefined
        : store.agreeing(found.orderId, amountMinor, currency, found.transactionId);
    if (!owner) return;
    if (store.learnId(publicId, owner.transactionId, "lookup", clock.now())) {
      const { transactionId, orderId } = owner;
      log.info({ transactionId, orderId, transactionPublicId: publicId }, "id learnt by a lookup");
    }
  }

  #settleByLookup(publicId: string, found: GatewayTransaction, only?: "done"): void {
    const { store } = this.#parts;
    const open = store.openOf(publicId);
    if (open?.state !== "unknown") return;
    const owner = store.ownerOf(publicId);
    const refundedMinor = refundedBefore(open, found.amountMinor ?? 0, this.#parts.store);
    const proved = provedByLookup(open, found, { owner, refundedMinor });
    if (proved === "done") this.#settle(open, "done", "lookup", "a lookup shows that it was done");
    if (proved === "refused" && only !== "done") {
      this.#settle(open, "refused", "lookup", "a lookup shows a capture: it was not cancelled");
    }
  }

  #settle(
    { operationId, transactionPublicId, kind }: GatewayOperation,
    state: "done" | "refused",
    by: SettledBy,
    why: string,
  ): GatewayOperation | null {
    const { store, log } = this.#parts;
    store.settle(operationId, state, by, why);
    log.warn({ operationId, transactionPublicId, kind, state, by }, "an operation is settled");
    if (state === "done") this.#alarmFailed(transactionPublicId);
    return store.operation(operationId) ?? null;
  }

  async #send(request: Request<"gateway-operation">): Promise<void> {
    const { store, gateway, clock, log } = this.#parts;
    const { operationId, transactionPublicId, kind } = request;
    const verdict = await gateway.operate(request, this.#abandon.signal);
    const state = operationEnd(verdict);
    store.finish(operationId, state, verdict, clock.now());
    const { class: tryClass, httpStatus, code, description } = verdict;
    const details = { operationId, transactionPublicId, kind, state };
    log.info(
      { ...details, class: tryClass, httpStatus, code, description },
      "the gateway's answer",
    );
    if (state === "done" && kind !== "confirm") this.#alarmTwice(transactionPublicId);
    if (state === "unknown") this.#alarmUnknown(operationId);
    this.notified(transactionPublicId); // a notification may have overtaken the answer
    if (state !== "unknown") return;
    if (store.openOf(transactionPublicId)) this.#lookups.begin(transactionPublicId);
  }

  /**
   * Raises the alarm of a return that leaves the customer charged, because the gateway has, or may
   * have, another transaction of the order.
   */
  #alarmTwice(transactionPublicId: string): void {
    const { store, log } = this.#parts;
    const { transactionId, orderId } = store.ownerOf(transactionPublicId) ?? {};
    if (transactionId === undefined || orderId === undefined) return;
    const ids = store.publicIdsOf(orderId);
    if (ids.length < 2 && !hasOrMayHaveOthers(transactionId, this.#parts.store)) return;
    const about = { transactionId, orderId, transactionPublicId, ids };
    const what =
      "money went back of one transaction; the gateway has or may have another one of the order";
    raiseAlarm(log, "gateway-order-twice", about, what);
  }

  /** Raises the alarm of each operation that was answered as done and notified as failed. */
  #alarmFailed(publicId: string): void {
    const { store, log } = this.#parts;
    const { transactionId, orderId } = store.ownerOf(publicId) ?? {};
    for (const { operationId, kind } of failedOperations(publicId, this.#parts.store)) {
      const about = { operationId, kind, transactionPublicId: publicId, transactionId, orderId };
      const what = `the ${kind} was answered as done and then notified as failed: look it up`;
      raiseAlarm(log, "gateway-operation-failed", about, `${what} at the gateway, do it there`);
    }
  }

  #alarmUnknown(operationId: string): void {
    const { store, log } = this.#parts;
    const { kind, transactionPublicId = "", description } = store.operation(operationId) ?? {};
    const { transactionId, orderId } = store.ownerOf(transactionPublicId) ?? {};
    raiseAlarm(
      log,
      "gateway-operation-unknown",
      { operationId, kind, transactionPublicId, transactionId, orderId, description },
      "whether the gateway carried it out is not known: it is never sent again",
    );
  }
}

function leftOf(leftMinor: number): { leftMinor?: number } {
  return leftMinor > 0 ? { leftMinor } : {};
}
