import { BrokenInvariant } from "../../shared/invariant.ts";
import type {
  SupervisorAnswer as Answer,
  GatewayOperation,
  SupervisorRequest as Request,
} from "../../shared/ipc/contract.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { OperationGateway } from "../gateway/gateway-client.ts";
import type { GatewayTransaction, LookupAnswer } from "../gateway/lookup.ts";
import { operationEnd } from "../gateway/operation-request.ts";
import type { StoreLosses } from "../outbox/store-losses.ts";
import { mayBeLost, recentOperations, repeatedBy } from "./asked-before.ts";
import {
  failedOperations,
  hasOrMayHaveOthers,
  isAtGatewayOnce,
  notifiedEnd,
  refundedBefore,
  returnedOfCopy,
  returnedOfKnown,
  returnedOfOrder,
} from "./gateway-history.ts";
import { operationLookups, provedByLookup } from "./operation-lookups.ts";
import type { OperationStore, SettledBy } from "./operation-store.ts";

interface OperationExecutorParts {
  readonly store: OperationStore;
  readonly gateway: OperationGateway;
  readonly clock: Clock;
  readonly losses: StoreLosses;
  readonly log: AlarmLog;
}

/**
 * Carries out confirm, cancel and refund (docs/rules/35-gateway-returns.md). Each is on disk before
 * it is sent, and is sent once. One whose answer was lost stays unknown until a notification, a
 * lookup or an operator settles it. A transaction of the gateway has at most one open operation.
 */
export class OperationExecutor {
  readonly #parts: OperationExecutorParts;
  readonly #store: OperationStore;
  readonly #running = new Map<string, Promise<void>>();
  readonly #abandon = new AbortController();
  readonly #stopLookups = new AbortController();
  readonly #lookups: ReturnType<typeof operationLookups>;
  readonly #recent: ReturnType<typeof recentOperations>;

  constructor(parts: OperationExecutorParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#recent = recentOperations(parts.clock);
    this.#lookups = operationLookups(parts.clock, (id) => this.#lookUpAgain(id));
  }

  /**
   * Marks operations that a former process was sending as unknown, and begins the lookups of all
   * unknown operations. Stored notifications are read first, because the gateway repeats none.
   */
  start(): void {
    const { clock, log } = this.#parts;
    const interrupted = this.#store.endInterrupted(clock.now());
    for (const id of this.#store.unknownOnes()) this.notified(id);
    for (const operationId of interrupted) {
      log.warn({ operationId }, "the program ended while it sent an operation to the gateway");
      if (this.#store.operation(operationId)?.state === "unknown") this.#alarmUnknown(operationId);
    }
    for (const id of this.#store.unknownOnes()) this.#lookups.begin(id);
  }

  /**
   * Lets running operations end within `graceMs`, then abandons them: one whose request was written
   * becomes unknown. One that begins later ends as not sent. Lookups are abandoned at once.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock } = this.#parts;
    this.#stopLookups.abort(new Error("stopping"));
    const abandon = () => this.#abandon.abort(new Error("stopping"));
    const timer = clock.startTimer("running operations", graceMs, abandon);
    // A message that had arrived before the stop may begin another operation during the wait.
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values());
    timer.clear();
    abandon();
    await this.#lookups.stop();
  }

  async resolve(wanted: Request<"gateway-resolve">): Promise<Answer<"gateway-resolve">> {
    if ("orderId" in wanted) {
      const ids = this.#store.publicIdsOf(wanted.orderId);
      const [only] = ids;
      const owner = ids.length === 1 && only ? this.#store.ownerOf(only) : undefined;
      if (only && owner) return this.#found(only, owner);
      const why = only
        ? "the gateway has more than one transaction of this order: name one of them"
        : "no verified notification and no lookup has named the order's transaction yet";
      return { found: false, why, candidates: ids };
    }
    const id = wanted.transactionPublicId.toUpperCase();
    const owner = this.#store.ownerOf(id);
    return owner ? this.#found(id, owner) : await this.#resolveByLookup(id);
  }

  async operate(request: Request<"gateway-operation">): Promise<Answer<"gateway-operation">> {
    const { clock, losses, log } = this.#parts;
    const { operationId, transactionPublicId, kind, key } = request;
    if (this.#store.operation(operationId)) return await this.end({ operationId });
    if (this.#store.isForbidden(operationId)) {
      throw new Error(`the operation ${operationId} arrived too late: it is already closed`);
    }
    const confirmed = this.#store
      .operationsOf(kind === "confirm" ? [transactionPublicId] : [])
      .find((one) => one.kind === "confirm" && one.state === "done");
    if (confirmed) return this.#answer(confirmed);
    const repeats = repeatedBy(request, this.#recent, this.#store, losses);
    if (repeats !== undefined) return { operation: null, repeats };
    const before = key && this.#store.ofKey(key.idempotencyKey)?.operation;
    const isUsed = before !== undefined && before.state !== "not-sent";
    if (isUsed || !this.#store.begin(request, clock.now(), key)) return { operation: null };
    this.#recent.add(operationId);
    log.info({ operationId, transactionPublicId, kind }, "an operation is sent to the gateway");
    const sending = this.#send(request).finally(() => this.#running.delete(operationId));
    this.#running.set(operationId, sending);
    await sending;
    return this.#answer(this.#store.operation(operationId));
  }

  /** Returns the outcome of an operation; forbids an operation that has not arrived here yet. */
  async end(request: Request<"gateway-operation-end">): Promise<Answer<"gateway-operation-end">> {
    const { operationId, asked } = request;
    const { clock, losses } = this.#parts;
    await this.#running.get(operationId);
    const operation = this.#ended(this.#store.operation(operationId));
    if (operation) return this.#answer(operation);
    this.#store.forbid(operationId, clock.now());
    if (!asked) return { operation: null };
    const owner = this.#store.ownerOf(asked.transactionPublicId);
    if (!losses.mayLack(owner?.transactionId)) return { operation: null };
    this.#store.addLost({ operationId, ...asked }, asked.askedAtMs, clock.now());
    const open = this.#store.openOf(asked.transactionPublicId);
    if (open?.operationId === operationId) {
      this.#alarmUnknown(operationId);
      this.#lookups.begin(open.transactionPublicId);
    }
    // While another operation of the transaction is open, the outcome of this one is unknown.
    return this.#answer(open && { ...open, operationId, state: "unknown" });
  }

  /** Returns the operation that a caller requested with this key, once the operation has ended. */
  async ofKey(request: Request<"gateway-key">): Promise<Answer<"gateway-key">> {
    const { idempotencyKey, target } = request;
    const { losses } = this.#parts;
    await this.#running.get(this.#store.ofKey(idempotencyKey)?.operation.operationId ?? "");
    const known = this.#store.ofKey(idempotencyKey);
    if (!known) return { known: null, mayBeLost: mayBeLost(target, this.#store, losses) };
    const owner = this.#store.ownerOf(known.operation.transactionPublicId);
    const { orderId = null, transactionId = null } = owner ?? {};
    const { orderReturnedMinor } = this.#answer(known.operation);
    const about = { orderId, transactionId, orderReturnedMinor };
    return { known: { ...known, ...about }, mayBeLost: false };
  }

  /**
   * Stores an operator's decision whether the unknown operation of a transaction was done. If none
   * is unknown, `happened` settles how often the gateway has the order.
   */
  settle(request: Request<"gateway-settle">): Answer<"gateway-settle"> {
    const { transactionPublicId, happened, note } = request;
    const id = transactionPublicId.toUpperCase();
    const open = this.#store.openOf(id);
    if (!open && happened) return { operation: this.#settleCopies(id, note) };
    if (open?.state !== "unknown") return { operation: null };
    const why = `an operator: ${maskPansInText(note)}`;
    return { operation: this.#settle(open, happened ? "done" : "refused", "operator", why) };
  }

  /** Stores an operator's decision that the gateway has no duplicates of an order. */
  settleOrder({ orderId, note }: Request<"gateway-copies">): Answer<"gateway-copies"> {
    const transactionPublicIds = this.#store.publicIdsOf(orderId);
    const open = this.#store.transactionsOf(orderId).find(({ transactionId }) => {
      const possible = this.#store.copiesPossible(transactionId);
      const known = this.#store.copiesOf(transactionId).length;
      return Number.isFinite(possible) && possible > Math.max(known, 1);
    });
    if (!open || !this.#keepNoCopies(open, note)) {
      return { settled: false, transactionId: null, transactionPublicIds };
    }
    const { transactionId } = open;
    const orderReturnedMinor = returnedOfOrder(transactionId, this.#store);
    return { settled: true, transactionId, transactionPublicIds, orderReturnedMinor };
  }

  /** Stores that the gateway has no duplicates of an order; false: the order may still be sent. */
  #keepNoCopies({ transactionId, orderId }: Transaction, note: string): boolean {
    const { clock, log } = this.#parts;
    if (this.#store.copiesPossible(transactionId) === Number.POSITIVE_INFINITY) return false;
    this.#store.settleCopies(transactionId, maskPansInText(note), clock.now());
    const says = "an operator has found out that the gateway has the order only once";
    log.warn({ transactionId, orderId }, says);
    return true;
  }

  /**
   * Stores an operator's decision that the gateway has no other transactions of a fully refunded
   * order. Returns the operation that paid the money back; null: there was nothing to settle.
   */
  #settleCopies(transactionPublicId: string, note: string): GatewayOperation | null {
    const owner = this.#store.ownerOf(transactionPublicId);
    const returned = this.#store
      .operationsOf([transactionPublicId])
      .findLast(({ kind, state }) => kind !== "confirm" && state === "done");
    if (!owner || !returned || !hasOrMayHaveOthers(owner.transactionId, this.#store)) return null;
    if (returnedOfKnown(owner, this.#store) < owner.amountMinor) return null;
    return this.#keepNoCopies(owner, note) ? returned : null;
  }

  async lookUp(id: string): Promise<Answer<"gateway-lookup">> {
    const { outcome, description, found } = await this.#lookUp(id);
    return { outcome, description, transaction: found ? { ...found.transaction } : null };
  }

  /** Settles an unknown operation if the notifications about its transaction prove its outcome. */
  notified(transactionPublicId: string): void {
    const end = notifiedEnd(transactionPublicId, this.#store);
    if (end) this.#settle(end.open, end.state, "notification", "a notification says so");
    this.#alarmFailed(transactionPublicId);
  }

  #found(transactionPublicId: string, owner: Transaction): Answer<"gateway-resolve"> {
    const { orderId, transactionId, currency, exponent, amountMinor } = owner;
    const returnedMinor = returnedOfCopy(transactionPublicId, owner, this.#store);
    const of = { orderId, transactionId, currency, exponent, returnedMinor };
    const left = leftOf(amountMinor - returnedMinor);
    return { found: true, transactionPublicId, ...of, ...left, remembers: true };
  }

  #answer(operation: GatewayOperation | undefined): Answer<"gateway-operation"> {
    const owner = operation && this.#store.ownerOf(operation.transactionPublicId);
    if (!operation || !owner) return { operation: operation ?? null };
    const { transactionId } = owner;
    const isThereOnce = isAtGatewayOnce(transactionId, this.#store) || undefined;
    const orderReturnedMinor = returnedOfOrder(transactionId, this.#store);
    return { operation, orderReturnedMinor, isThereOnce };
  }

  async #resolveByLookup(id: string): Promise<Answer<"gateway-resolve">> {
    const { losses } = this.#parts;
    const none = (why: string) => ({ found: false as const, why, candidates: [] });
    if (!isPublicId(id)) {
      return none("this is no transaction id of the gateway, such as 5CF62325CB217655");
    }
    const { found, description } = await this.#lookUp(id);
    if (!found) return none(`the lookup: ${description}`);
    const owner = this.#store.ownerOf(id);
    if (owner) return this.#found(id, owner);
    const { orderId, currency, exponent, amountMinor, capturedMinor, refundedMinor } = found;
    if (orderId !== null && this.#store.transactionsOf(orderId).length > 0) {
      return none("its amount, currency or order does not agree with our order");
    }
    // After a loss an order of ours may be missing here, while a refund of that order is under way.
    if (!losses.isWhole) return none("supervisor.db was lost, and not all orders are back yet");
    if (currency === null) return none("the lookup names no currency");
    const of = { orderId: null, transactionId: null, currency, exponent };
    const left = leftOf((capturedMinor ?? amountMinor ?? 0) - (refundedMinor ?? 0));
    return { found: true, transactionPublicId: id, ...of, ...left, remembers: true };
  }

  /** Returns an operation, which becomes unknown if its sending ended without a record. */
  #ended(operation: GatewayOperation | undefined): GatewayOperation | undefined {
    if (operation?.state !== "sending") return operation;
    const { operationId, transactionPublicId } = operation;
    if (this.#running.has(operationId)) return operation;
    this.#store.endInterrupted(this.#parts.clock.now(), operationId);
    this.notified(transactionPublicId);
    const ended = this.#store.operation(operationId);
    if (ended?.state === "unknown") this.#alarmUnknown(operationId);
    return ended;
  }

  /** Looks up an unknown operation and returns whether it is still open, or cannot be recorded. */
  async #lookUpAgain(publicId: string): Promise<boolean> {
    const { gateway, log } = this.#parts;
    try {
      if (this.#ended(this.#store.openOf(publicId))?.state !== "unknown") return false;
      const { found } = await gateway.lookUp(publicId, this.#stopLookups.signal);
      if (found) this.#settleByLookup(publicId, found, "done");
      return this.#store.openOf(publicId) !== undefined;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.warn({ err: error }, "an operation at the gateway is looked up again later");
      return true;
    }
  }

  async #lookUp(id: string): Promise<LookupAnswer> {
    const answer = await this.#parts.gateway.lookUp(id, this.#stopLookups.signal);
    if (answer.found && isPublicId(id)) {
      this.#learn(id.toUpperCase(), answer.found);
      this.#settleByLookup(id.toUpperCase(), answer.found);
    }
    return answer;
  }

  #learn(publicId: string, found: GatewayTransaction): void {
    const { clock, log } = this.#parts;
    const owner = this.#store.agreeing(found);
    if (!owner) return;
    if (this.#store.learnId(publicId, owner.transactionId, "lookup", clock.now())) {
      const { transactionId, orderId } = owner;
      const about = { transactionId, orderId, transactionPublicId: publicId };
      log.info(about, "a lookup at the gateway returned the gateway's id of an order");
      const ids = this.#store.publicIdsOf(orderId);
      const what = "the gateway has more than one transaction of an order";
      if (ids.length > 1) this.#alarm("gateway-order-twice", publicId, { ids }, what);
    }
  }

  #settleByLookup(publicId: string, found: GatewayTransaction, only?: "done"): void {
    const open = this.#store.openOf(publicId);
    if (open?.state !== "unknown") return;
    const owner = this.#store.ownerOf(publicId);
    const refundedMinor = refundedBefore(open, found.amountMinor ?? 0, this.#store);
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
    const { log } = this.#parts;
    this.#store.settle(operationId, state, by, why);
    const about = { operationId, transactionPublicId, kind, state, by };
    log.warn(about, "the unknown outcome of an operation at the gateway was settled");
    if (state === "done") this.#alarmFailed(transactionPublicId);
    return this.#store.operation(operationId) ?? null;
  }

  async #send(request: Request<"gateway-operation">): Promise<void> {
    const { gateway, clock, log } = this.#parts;
    const { operationId, transactionPublicId, kind } = request;
    const verdict = await gateway.operate(request, this.#abandon.signal);
    const state = operationEnd(verdict);
    try {
      this.#store.finish(operationId, state, verdict, clock.now());
    } catch (error) {
      this.#lookups.begin(transactionPublicId); // makes the operation unknown, see #ended
      throw error;
    }
    const { retryAfter: _, fields: __, ...answer } = verdict;
    const about = { operationId, transactionPublicId, kind, state, ...answer };
    log.info(about, "an operation at the gateway ended; the field state has the outcome");
    if (state === "done" && kind !== "confirm") this.#alarmTwice(transactionPublicId);
    if (state === "unknown") this.#alarmUnknown(operationId);
    this.notified(transactionPublicId); // a notification may have come before the lost answer
    if (state !== "unknown") return;
    if (this.#store.openOf(transactionPublicId)) this.#lookups.begin(transactionPublicId);
  }

  /** Raises an alarm if, after a refund, a second transaction still charges the customer. */
  #alarmTwice(publicId: string): void {
    const owner = this.#store.ownerOf(publicId);
    if (!owner) return;
    const ids = this.#store.publicIdsOf(owner.orderId);
    if (ids.length < 2 && !hasOrMayHaveOthers(owner.transactionId, this.#store)) return;
    const what =
      "money went back of one transaction; the gateway has or may have another one of the order";
    this.#alarm("gateway-order-twice", publicId, { ids }, what);
  }

  #alarmFailed(publicId: string): void {
    for (const { operationId, kind } of failedOperations(publicId, this.#store)) {
      const what = `the ${kind} was answered as done and then notified as failed: look it up`;
      const todo = `${what} at the gateway, do it there`;
      this.#alarm("gateway-operation-failed", publicId, { operationId, kind }, todo);
    }
  }

  #alarmUnknown(operationId: string): void {
    const operation = this.#store.operation(operationId);
    const { kind, transactionPublicId: id = "", description } = operation ?? {};
    const what = "whether the gateway carried it out is not known: it is never sent again";
    this.#alarm("gateway-operation-unknown", id, { operationId, kind, description }, what);
  }

  #alarm(
    alarm: "gateway-order-twice" | "gateway-operation-failed" | "gateway-operation-unknown",
    transactionPublicId: string,
    about: Readonly<Record<string, unknown>>,
    what: string,
  ): void {
    const { log } = this.#parts;
    const { transactionId, orderId } = this.#store.ownerOf(transactionPublicId) ?? {};
    log.error({ alarm, ...about, transactionPublicId, transactionId, orderId }, what);
  }
}

/**
 * Whether a text has the form of the gateway's transaction ids: 13 or 16 hex digits so far, at most
 * 32 characters (docs/gateway.md 2.9). A number of the v3 interface is no such id.
 */
function isPublicId(text: string): boolean {
  return /^[0-9A-Za-z]{1,32}$/.test(text) && !/^\d{12,15}$/.test(text);
}

function leftOf(leftMinor: number): { leftMinor?: number } {
  return leftMinor > 0 ? { leftMinor } : {};
}
