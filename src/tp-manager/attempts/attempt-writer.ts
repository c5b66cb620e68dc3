import { BrokenInvariant, invariant } from "../../shared/invariant.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Prompt } from "../terminal/terminal.ts";
import type { AttemptInput } from "./attempt-input.ts";
import type { AttemptStore } from "./attempt-store.ts";
import type { Announce } from "./event-table.ts";
import {
  type Attempt,
  type AttemptEvent,
  type AttemptState,
  type ChargedState,
  isCharged,
  isPaying,
  saleOf,
} from "./payment.ts";
import { advance } from "./payment-machine.ts";
import { phaseTable } from "./phase-table.ts";
import { isReturnedTwice, tellReturnedTwice } from "./returned-twice.ts";

/** Something that was heard on the wire and is not on disk yet. */
export interface UnwrittenStep {
  readonly input: AttemptInput;
  readonly event: AttemptEvent;
}

export interface WriterParts {
  readonly attempts: Pick<AttemptStore, "update" | "addEvent">;
  readonly clock: Clock;
  readonly log: Logger;
  /** For `GET /events`. */
  readonly announce?: Announce | undefined;
  /** Shared by the writers that one command has one after the other; see AttemptWriter.heard. */
  readonly unwritten?: UnwrittenStep[] | undefined;
}

/**
 * Moves one attempt from state to state: asks the machine, and has the new state, the event that
 * led to it and what follows from it (hand-off, withdrawal) on disk in one transaction.
 */
export class AttemptWriter {
  readonly #parts: WriterParts;
  readonly #unwritten: UnwrittenStep[];
  #attempt: Attempt;

  constructor(attempt: Attempt, parts: WriterParts) {
    this.#attempt = attempt;
    this.#parts = parts;
    this.#unwritten = parts.unwritten ?? [];
  }

  get attempt(): Attempt {
    return this.#attempt;
  }

  /** Throws when it could not be written: then nothing has changed. */
  advance(
    input: AttemptInput,
    kind: string,
    detail: Readonly<Record<string, unknown>>,
    ticket = "",
  ): Attempt {
    this.#writeHeard();
    return this.#write({ input, event: { atMs: this.#parts.clock.now(), kind, detail } }, ticket);
  }

  /**
   * Writes evidence of the wire that nothing can refuse any more. A step that the journal does not
   * take is kept in memory and written before the next one, because a recovery that does not know
   * of it could disprove a charge (docs/design.md 3.2).
   */
  heard(input: AttemptInput, kind: string): void {
    const step = { input, event: { atMs: this.#parts.clock.now(), kind, detail: {} } };
    try {
      this.#writeHeard();
      this.#write(step);
    } catch (error) {
      // A fault of this program does not get better by repeating it.
      if (!(error instanceof BrokenInvariant)) this.#unwritten.push(step);
      this.log("error", { err: error, kind }, "the journal did not take what was heard");
    }
  }

  #writeHeard(): void {
    for (let step = this.#unwritten[0]; step; step = this.#unwritten[0]) {
      this.#write(step);
      this.#unwritten.shift();
    }
  }

  #write({ input, event }: UnwrittenStep, ticket = ""): Attempt {
    const before = this.#attempt.state;
    const state = advance(before, input);
    const newlyCharged = isCharged(state) && saleOf(before) === undefined;
    const approvedAtMs = isPaying(before) ? event.atMs : this.#attempt.startedAtMs;
    this.#attempt = this.#parts.attempts.update(this.#attempt.transactionId, {
      from: before.phase,
      state,
      event,
      ...(ticket === "" ? {} : { ticket }),
      ...(newlyCharged ? { handOff: transactionOf(this.#attempt, state, approvedAtMs) } : {}),
      ...(endsSale(before, state) ? { withdraw: true } : {}),
    });
    if (isReturnedTwice(this.#attempt)) tellReturnedTwice(this.#parts.log, this.#attempt);
    return this.#attempt;
  }

  /** Something worth keeping that changes no state. A full disk must not stop what it is about. */
  note(kind: string, detail: Readonly<Record<string, unknown>>): void {
    try {
      const atMs = this.#parts.clock.now();
      this.#parts.attempts.addEvent(this.#attempt.transactionId, { atMs, kind, detail });
    } catch (error) {
      this.log("error", { err: error, kind }, "the journal did not take an event");
    }
  }

  /** Tells the prompt that the customer sees now; the prompt is kept nowhere. */
  prompted({ code, text, language }: Prompt): void {
    const { transactionId, request } = this.#attempt;
    this.log("info", { prompt: code }, text);
    const data = { orderId: request.orderId, transactionId, code, text, language };
    this.#parts.announce?.({ name: "prompt", data });
  }

  log(level: "info" | "warn" | "error", detail: object, message: string): void {
    const { transactionId, request } = this.#attempt;
    this.#parts.log[level]({ transactionId, orderId: request.orderId, ...detail }, message);
  }
}

/** The sale of an attempt does not stand any more: reversed, or an operator's second word. */
function endsSale(before: AttemptState, after: AttemptState): boolean {
  return saleOf(before) !== undefined && phaseTable[after.phase].charged === "no";
}

/** The transaction that a charged attempt hands to the supervisor. */
function transactionOf(
  { transactionId, request }: Attempt,
  { report, by }: ChargedState,
  approvedAtMs: number,
): Transaction {
  const { amountMinor: chargedMinor } = report;
  invariant(chargedMinor !== null, "whoever says that an order is charged says the amount");
  return {
    transactionId,
    orderId: request.orderId,
    origin: by,
    amountMinor: chargedMinor,
    currency: request.currency.alpha,
    exponent: request.currency.exponent,
    approvedAtMs,
    maskedPan: report.maskedPan,
    authorisationNumber: report.authorisationNumber,
    cardName: report.cardName,
    receiptNumber: report.receiptNumber,
    traceNumber: report.traceNumber,
    terminalId: report.terminalId,
    customerEmail: request.customerEmail,
    customData: request.customData,
    cart: chargedMinor === request.amountMinor ? [...request.cart] : [],
  };
}
