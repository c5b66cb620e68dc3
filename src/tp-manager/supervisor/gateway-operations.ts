import { AppError } from "../../shared/catalog/errors.ts";
import { BrokenInvariant } from "../../shared/invariant.ts";
import { IpcError } from "../../shared/ipc/client.ts";
import type {
  GatewayOperation,
  GatewayOperationKind,
  SupervisorRequest,
} from "../../shared/ipc/contract.ts";
import { type Currency, currencyOf } from "../../shared/money.ts";
import { newId } from "../../shared/new-id.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { afterSent, storage } from "../attempts/failures.ts";
import { type Attempt, type OpenReturn, returnableMinorOf } from "../attempts/payment.ts";
import {
  alarmReturnedTwice,
  inDoubtOf,
  isReturnedTwice,
  rowOf,
  unknownText,
} from "../attempts/phase-table.ts";
import type { Journal } from "../journal/journal.ts";
import { Poll } from "./polls.ts";
import {
  addedBy,
  InOrder,
  type OperationResult,
  type RequestKey,
  type Resolved,
  repeated,
  returnMinorOf,
} from "./return-request.ts";
import type { StoreGuard } from "./store-guard.ts";
import { type SupervisorLink, unavailable } from "./supervisor-link.ts";

/** Names what an operation is about: an order, or a transaction of the gateway. */
export type GatewayTarget = SupervisorRequest<"gateway-resolve">;

interface GatewayOperationsParts {
  readonly journal: Journal;
  readonly guard: StoreGuard;
  readonly link: SupervisorLink;
  readonly clock: Clock;
  readonly log: AlarmLog;
}

interface GatewayResult {
  readonly operation: GatewayOperation;
  readonly orderId: string | null;
  readonly currency: Currency;
  readonly amountMinor: number | null;
  /** Whether the operation had been carried out before, so that this call sent nothing. */
  readonly replayed: boolean;
}

/**
 * Confirms, cancels and refunds at the gateway (docs/rules/07-returns.md). A return (a cancel or
 * refund) is reserved in this journal, like a reversal at the terminal, so that only one of the two
 * can happen, and only once:
 *
 *   resolve ─ reserve ● ─ supervisor: write ahead ●, send once ─ gateway's answer ─ end ●
 *
 * A return without a known outcome keeps its reservation. The supervisor is asked about the
 * operation by its id, and answers with the outcome or makes sure that it is never sent.
 */
export class GatewayOperations {
  readonly #parts: GatewayOperationsParts;
  readonly #inOrder = new InOrder();
  /** The ids of the operations that were sent to the supervisor and are not answered yet. */
  readonly #sending = new Set<string>();
  /** Asks the supervisor repeatedly about returns without an outcome, which can end at any time. */
  readonly openReturns: Poll;

  constructor(parts: GatewayOperationsParts) {
    this.#parts = parts;
    const failure = "could not read the open cancels and refunds";
    const subject = { name: "open return poll", failure, round: this.#askOpen.bind(this) };
    this.openReturns = new Poll(subject, parts.clock, parts.log);
  }

  start(): void {
    const { journal, log } = this.#parts;
    for (const attempt of journal.returns.unalarmedTwice()) alarmReturnedTwice(log, attempt);
    this.openReturns.nudge();
  }

  /** Stops asking and waits for no answer: the gateway may work on a refund for minutes. */
  close(): void {
    void this.openReturns.close();
  }

  async #askOpen(isClosed: () => boolean): Promise<void> {
    const { journal, log } = this.#parts;
    for (const attempt of journal.returns.openReturns()) {
      if (isClosed()) return;
      const { transactionId } = attempt;
      await this.reconcile(attempt).catch((err: unknown) => {
        if (err instanceof BrokenInvariant) throw err;
        log.debug({ transactionId, err }, "the outcome of a cancel or refund is still unknown");
      });
    }
  }

  /**
   * Resolves when the gateway has carried out the operation, now or earlier with the same key.
   * `readAmount` returns the amount in a currency; undefined: all of it. Throws {@link AppError}.
   */
  async ask(
    kind: GatewayOperationKind,
    target: GatewayTarget,
    readAmount: (currency: Currency) => number | undefined,
    requestKey: RequestKey,
  ): Promise<GatewayResult> {
    const { idempotencyKey } = requestKey;
    const begin = async () => {
      const where = await this.#resolve(target);
      return await aboutOrder(where, () => this.#ask(kind, where, readAmount, requestKey));
    };
    if (idempotencyKey === undefined) return await begin();
    return await this.#inOrder.take(idempotencyKey, async () => {
      const before = await this.#askedBefore(kind, target, { ...requestKey, idempotencyKey });
      return before ?? (await begin());
    });
  }

  /** Returns the outcome of an earlier operation with the same idempotency key; undefined: none. */
  async #askedBefore(
    kind: GatewayOperationKind,
    target: GatewayTarget,
    { idempotencyKey, asked }: RequestKey & { readonly idempotencyKey: string },
  ): Promise<GatewayResult | undefined> {
    const { link } = this.#parts;
    // If the supervisor does not answer, the operation may have been done, so this call throws.
    const key = { idempotencyKey, target };
    const { known, mayBeLost } = await link.ask("gateway-key", key, { mayBeDone: true });
    if (!known) {
      if (!mayBeLost || this.#neverAsked(kind, target, idempotencyKey)) return undefined;
      const lost = "supervisor.db was lost: an operation with this key may have been carried out.";
      throw new AppError("GATEWAY_OPERATION_UNKNOWN", lost);
    }
    if (known.asked !== asked) throw new AppError("IDEMPOTENCY_KEY_REUSED");
    const { operation, orderId, orderReturnedMinor } = known;
    const currency = currencyOf(known.currency);
    if (operation.state === "not-sent" || !currency) return undefined;
    const { amountMinor } = operation;
    return await aboutOrder(known, async () => {
      await afterSent(mayBeDone(operation), async () => {
        const found = this.#attemptOf(known);
        const attempt = found && (await this.reconcile(found));
        const isNews = attempt && attempt.returnedMinor < (orderReturnedMinor ?? 0);
        if (isNews) this.#note(attempt, { operation, orderReturnedMinor });
      });
      return { operation: assertDone(operation), orderId, currency, amountMinor, replayed: true };
    });
  }

  /** Returns whether the journal proves that no return of this order was requested with the key. */
  #neverAsked(kind: GatewayOperationKind, target: GatewayTarget, idempotencyKey: string): boolean {
    const { attempts, returns } = this.#parts.journal;
    if (kind === "confirm" || !("orderId" in target)) return false;
    return storage(() => {
      const known = attempts.ofOrder(target.orderId);
      const isNew = ({ transactionId }: Attempt) =>
        returns.neverAsked(transactionId, idempotencyKey);
      return known.length > 0 && known.every(isNew);
    }, "unknown");
  }

  async #ask(
    kind: GatewayOperationKind,
    where: Resolved,
    readAmount: (currency: Currency) => number | undefined,
    { idempotencyKey, asked, again }: RequestKey,
  ): Promise<GatewayResult> {
    const currency = currencyOf(where.currency);
    if (!currency) throw new AppError("GATEWAY_ID_UNKNOWN", "The currency is not known.");
    const wanted = readAmount(currency);
    const found = this.#attemptOf(where);
    const attempt = found && (await this.reconcile(found));
    const isPart = wanted !== undefined && !(attempt && wanted >= returnableMinorOf(attempt));
    const unlessRepeated = kind === "refund" && isPart && !again && idempotencyKey === undefined;
    if (attempt) assertChargedStill(attempt, unlessRepeated ? wanted : undefined);
    if (kind !== "confirm") {
      // An order of another system was not paid at our terminal: only the gateway can pay it back.
      const returnedBy = where.orderId === null ? "gateway" : "anybody";
      this.#parts.guard.assertNotReturned(attempt, returnedBy);
    }
    if (!where.remembers && (unlessRepeated || idempotencyKey !== undefined)) {
      const message = "The supervisor is of an older version: try again after it was updated.";
      throw new AppError("SUPERVISOR_UNAVAILABLE", message, { details: { failure: "refused" } });
    }
    const operationId = newId();
    const { transactionPublicId, exponent, leftMinor } = where;
    const keyed = idempotencyKey === undefined ? {} : { idempotencyKey };
    let open: OpenReturn | undefined;
    let returnMinor: number | undefined;
    if (attempt && kind !== "confirm") {
      returnMinor = returnMinorOf(attempt, kind, where, wanted);
      const reserved = { kind, amountMinor: returnMinor, transactionPublicId };
      open = this.#reserve(attempt, { operationId, ...keyed, ...reserved });
    }
    // A refund of the rest names an amount too: the answer must agree (docs/rules/21-agree.md).
    const all = kind === "refund" ? leftMinor : undefined;
    const amountMinor = kind === "cancel" ? null : (returnMinor ?? wanted ?? all ?? null);
    const request = { operationId, kind, transactionPublicId, amountMinor, exponent };
    const key = idempotencyKey === undefined ? {} : { key: { idempotencyKey, asked } };
    const operation = await this.#send(
      { ...request, currency: currency.alpha, ...key, unlessRepeated },
      attempt,
      open,
    );
    return { operation, orderId: where.orderId, currency, amountMinor, replayed: false };
  }

  /** Returns the order's id at the gateway; undefined: no such order. Throws GATEWAY_ID_UNKNOWN. */
  async publicIdOf(orderId: string): Promise<string | undefined> {
    const known = storage(() => this.#parts.journal.attempts.decisive(orderId), "unknown");
    return known && (await this.#resolve({ orderId })).transactionPublicId;
  }

  /** Settles an operation without an outcome by an operator's finding. Throws NOTHING_TO_SETTLE. */
  async settle(target: GatewayTarget, happened: boolean, note: string): Promise<GatewayOperation> {
    const where = await this.#resolve(target);
    return await aboutOrder(where, async () => {
      const { transactionPublicId } = where;
      const { link } = this.#parts;
      const result = { transactionPublicId, happened, note };
      const { operation: settled } = await link.ask("gateway-settle", result);
      await afterSent(settled !== null, async () => {
        const attempt = this.#attemptOf(where);
        if (attempt) await this.reconcile(attempt);
        const { operationId } = settled ?? {};
        if (!attempt || operationId === undefined) return;
        this.#note(attempt, await link.ask("gateway-operation-end", { operationId }));
      });
      if (!settled) throw new AppError("NOTHING_TO_SETTLE");
      return settled;
    });
  }

  /**
   * Notes that an operator found an order at the gateway only once. Returns the order's ids at the
   * gateway. Throws NOTHING_TO_SETTLE.
   */
  async settleCopies(orderId: string, note: string): Promise<readonly string[]> {
    const { journal, link } = this.#parts;
    const known = storage(() => journal.attempts.ofOrder(orderId), "unknown");
    if (known.length === 0) throw new AppError("ORDER_NOT_FOUND");
    const { settled, transactionId, ...result } = await link.ask("gateway-copies", {
      orderId,
      note,
    });
    if (!settled) throw new AppError("NOTHING_TO_SETTLE");
    const attempt = known.find((one) => one.transactionId === transactionId);
    await afterSent(true, () => attempt && this.#note(attempt, { operation: null, ...result }));
    return result.transactionPublicIds;
  }

  /** Asks for the outcome of the attempt's open return, if any, and returns the new attempt. */
  async reconcile(attempt: Attempt): Promise<Attempt> {
    const { openReturn: open, transactionId } = attempt;
    // An operation that is still on its way is skipped: the supervisor would forbid it if asked.
    if (!open || this.#sending.has(open.operationId)) return attempt;
    const { operationId, kind, amountMinor, transactionPublicId, atMs: askedAtMs } = open;
    const { alpha: currency, exponent } = attempt.request.currency;
    const asked = { kind, amountMinor, transactionPublicId, currency, exponent, askedAtMs };
    const result = await this.#parts.link.ask("gateway-operation-end", { operationId, asked });
    this.#conclude(attempt, open, result);
    return this.#parts.journal.attempts.read(transactionId) ?? attempt;
  }

  async #resolve(target: GatewayTarget): Promise<Resolved> {
    const { journal, link } = this.#parts;
    if ("orderId" in target) {
      const known = storage(() => journal.attempts.decisive(target.orderId), "unknown");
      if (!known) throw new AppError("ORDER_NOT_FOUND");
    }
    const where = await link.ask("gateway-resolve", target);
    if (where.found) return where;
    const { why, candidates } = where;
    throw new AppError("GATEWAY_ID_UNKNOWN", `The gateway's id is not known: ${why}.`, {
      details: { transactionPublicIds: candidates },
    });
  }

  #attemptOf(of: Pick<Resolved, "transactionId" | "orderId">): Attempt | undefined {
    const { transactionId, orderId } = of;
    if (transactionId === null || orderId === null) return undefined;
    const { attempts } = this.#parts.journal;
    return storage(
      () => attempts.ofOrder(orderId).find((one) => one.transactionId === transactionId),
      "unknown",
    );
  }

  #reserve(attempt: Attempt, asked: Omit<OpenReturn, "atMs">): OpenReturn | undefined {
    const { clock, log } = this.#parts;
    const { attempts, returns } = this.#parts.journal;
    const charged = returnableMinorOf(attempt);
    const { transactionId } = attempt;
    // An archived order's refund is not reserved in the journal: the terminal cannot reverse the
    // sale any more, and the supervisor runs only one operation of a transaction at a time.
    if (!storage(() => attempts.read(transactionId), "yes")) return undefined;
    const open = { ...asked, atMs: clock.now() };
    if (!storage(() => returns.reserveReturn(transactionId, open, charged), "yes")) {
      throw new AppError("GATEWAY_OPERATION_OPEN");
    }
    const text = "a cancel or refund at the gateway was reserved";
    log.info({ transactionId, orderId: attempt.request.orderId, ...open }, text);
    return open;
  }

  async #send(
    request: SupervisorRequest<"gateway-operation">,
    attempt: Attempt | undefined,
    open: OpenReturn | undefined,
  ): Promise<GatewayOperation> {
    const { link } = this.#parts;
    let result: OperationResult;
    this.#sending.add(request.operationId);
    try {
      result = await link.call("gateway-operation", request);
      if (!result.operation) {
        if (attempt && open) this.#conclude(attempt, open, result);
        if (result.repeats !== undefined) throw repeated(result.repeats);
        throw new AppError("GATEWAY_OPERATION_OPEN");
      }
    } catch (error) {
      if (!(error instanceof IpcError)) throw error;
      if (error.failure === "unreachable") {
        if (attempt && open) this.#conclude(attempt, open, { operation: null });
        throw unavailable(error);
      }
      result = await this.#afterLostAnswer(request.operationId);
    } finally {
      this.#sending.delete(request.operationId);
    }
    await afterSent(mayBeDone(result.operation), () => {
      if (attempt && open) this.#conclude(attempt, open, result);
      else if (attempt) this.#note(attempt, result, addedBy(result, request.amountMinor ?? 0));
    });
    return assertDone(result.operation);
  }

  async #afterLostAnswer(operationId: string): Promise<OperationResult> {
    try {
      return await this.#parts.link.call("gateway-operation-end", { operationId });
    } catch (error) {
      if (!(error instanceof IpcError)) throw error;
      const message = "The supervisor did not report what became of the operation.";
      throw new AppError("GATEWAY_OPERATION_UNKNOWN", message, {
        details: { operationId },
        cause: error,
      });
    }
  }

  /**
   * Ends the reservation of a return when its outcome is known. An operation that the supervisor
   * does not know will never be carried out.
   */
  #conclude(attempt: Attempt, open: OpenReturn, result: OperationResult): void {
    const { clock, log } = this.#parts;
    const { attempts, returns } = this.#parts.journal;
    const { operation, orderReturnedMinor } = result;
    const state = operation?.state ?? "not-sent";
    if (state === "unknown" || state === "sending") return;
    const { transactionId } = attempt;
    const { operationId } = open;
    const { code = null, description = "" } = operation ?? {};
    const detail = { operationId, state, code, description };
    const event = { atMs: clock.now(), kind: "gateway-return-ended", detail } as const;
    const addedMinor = addedBy(result, open.amountMinor);
    const returned = state === "done" ? { sumMinor: orderReturnedMinor ?? 0, addedMinor } : null;
    const [before, after] = storage(() => {
      const known = attempts.read(transactionId);
      returns.endReturn(transactionId, open, returned, event);
      return [known, attempts.read(transactionId)];
    }, "unknown");
    const text = "a cancel or refund at the gateway ended";
    log.info({ transactionId, orderId: attempt.request.orderId, ...detail }, text);
    // Raises an alarm if recovery has found meanwhile that the terminal reversed the sale as well.
    const isNews = before && after && !isReturnedTwice(before) && isReturnedTwice(after);
    if (isNews) alarmReturnedTwice(log, after);
  }

  /** Notes in the journal what was paid back: the supervisor's sum, or ours plus `addedMinor`. */
  #note(known: Attempt, { orderReturnedMinor = 0 }: OperationResult, addedMinor = 0): void {
    const added = addedMinor > 0 ? known.returnedMinor + addedMinor : 0;
    const returnedMinor = Math.max(orderReturnedMinor, added);
    if (returnedMinor === 0) return;
    const { transactionId } = known;
    const { journal, clock, log } = this.#parts;
    const returned = { transactionId, returnedMinor };
    const noted = storage(() => journal.returns.noteReturns([returned], clock.now()), "unknown");
    for (const { attempt, isNew } of noted) {
      if (isNew && isReturnedTwice(attempt)) alarmReturnedTwice(log, attempt);
    }
  }
}

/** Settles like `work`, but adds the order's id to an error. */
async function aboutOrder<T>({ orderId }: Pick<Resolved, "orderId">, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && orderId !== null) error.orderId = orderId;
    throw error;
  }
}

function mayBeDone(operation: GatewayOperation | null): boolean {
  return operation !== null && operation.state !== "refused" && operation.state !== "not-sent";
}

/**
 * Throws unless the order is charged and no return is open; reversals have the same condition.
 * `partMinor`: the amount of a partial refund, which may be the repetition of the open refund.
 */
function assertChargedStill(attempt: Attempt, partMinor: number | undefined): void {
  const { gateway } = rowOf(attempt);
  const { openReturn: open } = attempt;
  if (gateway === "begin") return;
  if (open?.kind === "refund" && open.amountMinor === partMinor) {
    throw repeated({ ...open, state: "unknown", askedAtMs: open.atMs });
  }
  if (gateway === "PAYMENT_UNKNOWN") {
    const details = { inDoubt: inDoubtOf(attempt.state) };
    throw new AppError(gateway, unknownText(attempt.state), { details });
  }
  const { idempotencyKey: _, ...details } = open ?? {};
  throw new AppError(gateway, undefined, { details });
}

function assertDone(operation: GatewayOperation | null): GatewayOperation {
  const { operationId, transactionPublicId, code, description } = operation ?? {};
  const details = { operationId, transactionPublicId, code, description, class: operation?.class };
  switch (operation?.state) {
    case "done":
      return operation;
    case "refused":
      throw new AppError("GATEWAY_REFUSED", `The gateway refused: ${description}`, { details });
    case "unknown":
    case "sending":
      throw new AppError("GATEWAY_OPERATION_UNKNOWN", undefined, { details });
    case "not-sent":
    case undefined:
      throw new AppError("GATEWAY_NOT_SENT", undefined, { details });
  }
}
