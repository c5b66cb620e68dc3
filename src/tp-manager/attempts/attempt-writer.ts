import { invariant } from "../../shared/invariant.ts";
import type { AlarmLog, LineFields } from "../../shared/process/logger.ts";
import { readOr } from "../../shared/read-or.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Journal } from "../journal/journal.ts";
import type { Prompt } from "../terminal/terminal.ts";
import { eventAt, fold, type NoteKind, stepOf, type WrittenEvent } from "./attempt-event.ts";
import type { AttemptInput } from "./attempt-input.ts";
import type { Announce } from "./event-table.ts";
import {
  type Attempt,
  type AttemptStep,
  type ChargedState,
  type Detail,
  isCharged,
  isNotCharged,
  isPaying,
  isReversed,
  returnableMinorOf,
  saleOf,
} from "./payment.ts";
import { alarmReturnedTwice, isReturnedTwice, phaseTable, UNPAID_GOODS } from "./phase-table.ts";

/** The longest time from when an event is received on the wire until it is on disk. */
const HEARD_WITHIN_MS = 1_000;

interface WriterParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: AlarmLog;
  readonly announce?: Announce | undefined;
}

/**
 * Moves one attempt to its next state, as the state machine gives it, and writes state, event and
 * what follows (hand-off, withdrawal) to the disk in one transaction (docs/rules/09-handoff.md).
 */
export class AttemptWriter {
  readonly #parts: WriterParts;
  /** Events received on the wire, not on disk yet. All writers of one command share this list. */
  readonly unwritten: WrittenEvent[];
  #attempt: Attempt;
  #timer: Timer | undefined;

  constructor(attempt: Attempt, parts: WriterParts, unwritten: WrittenEvent[] = []) {
    this.#attempt = attempt;
    this.#parts = parts;
    this.unwritten = unwritten;
  }

  get attempt(): Attempt {
    return this.#attempt;
  }

  /** Writes the event of `input` and returns the new attempt. After a throw nothing has changed. */
  advance(input: AttemptInput): Attempt {
    const said = input.input === "end" ? input.end : input;
    const ticket = "ticket" in said ? said.ticket : "";
    return this.#write(
      [...this.unwritten, eventAt(this.#parts.clock.now(), input)],
      ticket || undefined,
    );
  }

  /**
   * Keeps an event from the wire in memory until the next write, for at most `HEARD_WITHIN_MS`
   * (docs/design.md 2.1). Recovery in this process gets the event, because it could otherwise take
   * a charge for disproved. Recovery after a crash assumes that such an event may have been lost
   * (docs/rules/28-unchanged-storage.md).
   */
  heard(input: AttemptInput): void {
    const { clock } = this.#parts;
    const event = eventAt(clock.now(), input);
    try {
      fold([...this.unwritten, event], this.#attempt.state);
    } catch (error) {
      // The event is dropped: it shows a fault of the program, and repeating it would not help.
      const text = "an event from the wire is not possible in the attempt's state";
      this.log("error", { err: error, input: input.input }, text);
      return;
    }
    this.unwritten.push(event);
    this.#timer ??= clock.startTimer("heard on the wire", HEARD_WITHIN_MS, () => this.settle());
  }

  /** Writes the events of {@link heard} to the disk. The next write repeats a failed one. */
  settle(): void {
    this.#timer?.clear();
    this.#timer = undefined;
    if (this.unwritten.length === 0) return;
    try {
      this.#write([...this.unwritten]);
    } catch (error) {
      this.log("error", { err: error }, "could not write events from the wire to the journal");
    }
  }

  #write(events: readonly WrittenEvent[], ticket?: string): Attempt {
    const { state: before, transactionId, startedAtMs, request } = this.#attempt;
    let state = before;
    const steps = events.map((each) => {
      const from = state;
      state = fold([each], from);
      // Version 1 lacks the newer code, and leaves the event out.
      const v = isNotCharged(state) && state.outcome.newer ? 2 : each.v;
      return stepOf({ ...each, v }, from);
    });
    // What follows a reversal, such as a late decision about the goods, reverses nothing again.
    const wasReversed = isReversed(before);
    const wasSold = saleOf(before) !== undefined;
    const last = events.at(-1);
    const isReturned = last?.input === "settled" && last.outcome === "reversed" && isCharged(state);
    const approvedAtMs = (isPaying(before) && last?.atMs) || startedAtMs;
    this.#attempt = this.#parts.journal.attempts.update(transactionId, {
      from: before.phase,
      state,
      steps,
      ticket,
      handOff:
        isCharged(state) && !wasSold
          ? transactionOf(this.#attempt, state, approvedAtMs)
          : undefined,
      returnedMinor: isReturned ? returnableMinorOf({ state, request }) : undefined,
      // The sale does not count any more: it was reversed, or an operator corrected a finding.
      withdraw: wasSold && !wasReversed && phaseTable[state.phase].charged === "no",
    });
    this.unwritten.length = 0;
    this.#timer?.clear();
    this.#timer = undefined;
    if (!wasReversed && isReturnedTwice(this.#attempt)) {
      alarmReturnedTwice(this.#parts.log, this.#attempt);
    }
    const isEnd = isNotCharged(state) && !isNotCharged(before) && request.delivery !== null;
    const goods = isEnd && readOr(undefined, () => this.goodsSaid?.detail["goods"]);
    // An operator's correction takes back a charge that came after the last alarm.
    if (goods && goods !== "not-issued") this.alarmUnpaidGoods(isCharged(before));
    return this.#attempt;
  }

  /** The step with the kiosk's last decision about the goods; undefined: it has not decided. */
  get goodsSaid(): AttemptStep | undefined {
    const events = this.#parts.journal.attempts.events(this.#attempt.transactionId);
    const isUnsaid = (one: AttemptStep) => one.detail["unsaid"] ?? one.input?.["unsaid"];
    return events.findLast((one) => one.kind.startsWith("goods-decided") && !isUnsaid(one));
  }

  /**
   * Raises the alarm that goods came out of an order that is not charged, or not for certain: once
   * for the attempt, unless `again`.
   */
  alarmUnpaidGoods(again = false): void {
    const { alarms } = this.#parts.journal;
    const alarm = { alarm: UNPAID_GOODS, transactionId: this.#attempt.transactionId } as const;
    if (!again && readOr(false, () => alarms.isRaisedHere(alarm))) return;
    const text =
      "the kiosk reported that goods came out, and the order is not charged, or not for certain: " +
      "the customer may have the goods and the money";
    this.log("error", alarm, text);
  }

  /** Writes a note, which changes no state. If the write fails, it is only logged. */
  note(kind: NoteKind, detail: Detail): void {
    try {
      const atMs = this.#parts.clock.now();
      this.#parts.journal.attempts.addEvent(this.#attempt.transactionId, { atMs, kind, detail });
    } catch (error) {
      const text = "could not write a note about the attempt to the journal";
      this.log("error", { err: error, kind }, text);
    }
  }

  /** Announces the terminal's present prompt to the customer. Prompts are not stored. */
  prompted(prompt: Prompt): void {
    const { transactionId, request } = this.#attempt;
    const { orderId } = request;
    this.#parts.log.info({ transactionId, orderId, prompt: prompt.code }, prompt.text);
    const data = { orderId, transactionId, ...prompt };
    this.#parts.announce?.({ name: "prompt", data });
  }

  log(level: "warn" | "error", detail: LineFields, message: string): void {
    const { transactionId, request } = this.#attempt;
    this.#parts.log[level]({ transactionId, orderId: request.orderId, ...detail }, message);
  }
}

function transactionOf(
  { transactionId, request }: Attempt,
  { report, by }: ChargedState,
  approvedAtMs: number,
): Transaction {
  const { amountMinor: chargedMinor } = report;
  invariant(chargedMinor !== null, "a charge has an amount");
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
