import type { NamedRecord } from "../../src/tp-manager/attempts/comparison.ts";
import type { UnmatchedRow } from "../../src/tp-manager/attempts/findings.ts";
import {
  type Attempt,
  type AttemptStep,
  type PaymentRequest,
  saleOf,
} from "../../src/tp-manager/attempts/payment.ts";
import { isInDoubt } from "../../src/tp-manager/attempts/phase-table.ts";
import type { AttemptRows } from "../../src/tp-manager/journal/attempt-rows.ts";
import type { KnownRecord, RecordRows } from "../../src/tp-manager/journal/record-rows.ts";
import type { TerminalRows } from "../../src/tp-manager/journal/terminal-rows.ts";
import type { NextCommand } from "../../src/tp-manager/matching/facts.ts";
import { AMOUNT_MINOR } from "./entry-reports.ts";
import { latest, type StoredAttempt, type World } from "./world.ts";

type Attempts = Pick<
  AttemptRows,
  "events" | "read" | "orderOf" | "unfinished" | "decisive" | "ofOrder"
>;
type Records = Omit<RecordRows, "sharingTrace">;
type Unmatched = Pick<
  TerminalRows,
  "wasClosedSince" | "unmatchedSince" | "soldSinceUnmatched" | "closedSinceUnmatched"
>;

/** The disk of a world as the product reads its journal. An attempt's id is its place. */
export class DiskJournal implements Attempts, Records, Unmatched {
  readonly #disk: World["disk"];

  constructor({ disk }: World) {
    this.#disk = disk;
  }

  read(transactionId: string): Attempt | undefined {
    const stored = this.#stored(transactionId);
    return stored && fullOf(stored, transactionId);
  }

  orderOf(transactionId: string): string | undefined {
    return this.#stored(transactionId)?.order;
  }

  events(transactionId: string): AttemptStep[] {
    return [...(this.#stored(transactionId)?.events ?? [])];
  }

  decisive(orderId: string): Attempt | undefined {
    const index = latest(this.#disk, orderId);
    return index === null ? undefined : this.read(String(index));
  }

  ofOrder(orderId: string): Attempt[] {
    return this.#all().filter(({ request }) => request.orderId === orderId);
  }

  unfinished(): Attempt[] {
    return this.#all().filter(({ state }) => isInDoubt(state));
  }

  nextCommand(transactionId: string): NextCommand | undefined {
    const after = this.#disk.attempts[Number(transactionId) + 1];
    if (!after) return undefined;
    const { baseline, served, state } = after;
    const sale = saleOf(state);
    return {
      identity: baseline.identity,
      found: baseline.last,
      served,
      receiptNumber: sale?.by === "payment" ? sale.report.receiptNumber : null,
      // Decides only above NEW_NUMBERING_MAX, which the numbers of a walk do not reach.
      formerReceipt: null,
    };
  }

  sharingName(record: NamedRecord, sinceMs: number): KnownRecord[] {
    const { receiptNumber, traceNumber, localTime } = record;
    return this.#disk.records.filter(
      ({ record: one, atMs }) =>
        (traceNumber !== null && Number(one.traceNumber ?? -1) === Number(traceNumber)) ||
        (localTime !== null && one.localTime === localTime) ||
        (localTime === null && atMs >= sinceMs) ||
        (receiptNumber !== null && isReceiptAlone(one, receiptNumber)),
    );
  }

  sharingNumber(record: NamedRecord, sinceMs: number): KnownRecord[] {
    return this.sharingName(record, sinceMs);
  }

  closedSince(sinceMs: number): boolean {
    return this.#disk.closings.some((atMs) => atMs >= sinceMs);
  }

  *sent(): Generator<Attempt, void> {
    yield* this.#all().reverse();
  }

  wasClosedSince(sinceMs: number): boolean {
    return this.closedSince(sinceMs);
  }

  unmatchedSince(transactionId: string): UnmatchedRow[] {
    const since = ({ attempts }: { attempts: number }): boolean => attempts > Number(transactionId);
    return this.#disk.unmatched
      .map((unmatched, id) => ({ ...unmatched, id, isOfNoOrder: false }))
      .filter(since)
      .reverse();
  }

  soldSinceUnmatched(id: number): boolean {
    const { unmatched, attempts } = this.#disk;
    const since = attempts.slice(unmatched[id]?.attempts);
    return since.some(({ state }) => state.phase !== "not-charged");
  }

  closedSinceUnmatched(id: number): boolean {
    const { unmatched, closings } = this.#disk;
    return closings.length > (unmatched[id]?.closings ?? 0);
  }

  #stored(transactionId: string): StoredAttempt | undefined {
    return this.#disk.attempts[Number(transactionId)];
  }

  #all(): Attempt[] {
    return this.#disk.attempts.map((stored, index) => fullOf(stored, String(index)));
  }
}

/** Whether a receipt number alone names the record; it does not where the record has more names. */
function isReceiptAlone(record: NamedRecord, receiptNumber: string): boolean {
  const { receiptNumber: number, traceNumber, localTime } = record;
  return traceNumber === null && localTime === null && Number(number) === Number(receiptNumber);
}

const request: PaymentRequest = {
  orderId: "",
  generatedId: false,
  amountMinor: AMOUNT_MINOR,
  currency: { alpha: "EUR", numeric: "978", exponent: 2 },
  echo: { amount: AMOUNT_MINOR / 100 },
  cart: [],
  customerEmail: null,
  customData: {},
  delivery: null,
  warnings: [],
};

const full = new WeakMap<StoredAttempt, Attempt>();

/** A stored attempt is replaced with each change, and never moves. */
function fullOf(stored: StoredAttempt, transactionId: string): Attempt {
  const known = full.get(stored);
  if (known) return known;
  const { order, number, state, startedAtMs, endedAtMs, baseline } = stored;
  const made: Attempt = {
    transactionId,
    number,
    state,
    startedAtMs,
    endedAtMs,
    baseline,
    request: { ...request, orderId: order },
    ticket: "",
    returnedMinor: 0,
    returnedSome: false,
    openReturn: null,
  };
  full.set(stored, made);
  return made;
}
