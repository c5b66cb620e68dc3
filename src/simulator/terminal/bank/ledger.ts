import { invariant } from "../../../shared/invariant.ts";
import type { Clock } from "../../../shared/time.ts";
import { ValueError } from "../../switch-table.ts";
import type { StateFile } from "../memory/state-file.ts";

/** The outcome of a payment at the bank; `decline`: the ISO 8583 response code, 1 to 99. */
export type Outcome = "approve" | "customer-timeout" | { readonly decline: number };

/** The cents of an amount for which the simulated customer walks away without a card. */
const CUSTOMER_TIMEOUT_CENTS = 68;

export type OutcomeRule = "by-amount" | Outcome;

/** Returns a payment's outcome; "by-amount": cents 00 approve, 68 walk away, NN decline as NN. */
export function outcomeOf(rule: OutcomeRule, amountMinor: number): Outcome {
  if (rule !== "by-amount") return rule;
  const cents = amountMinor % 100;
  if (cents === 0) return "approve";
  if (cents === CUSTOMER_TIMEOUT_CENTS) return "customer-timeout";
  return { decline: cents };
}

/** Reads the value of `--outcome`. Throws {@link ValueError}. */
export function parseOutcomeRule(text: string): OutcomeRule {
  if (text === "by-amount" || text === "approve" || text === "customer-timeout") return text;
  const code = Number(/^decline:(\d{1,2})$/.exec(text)?.[1] ?? 0);
  if (code > 0) return { decline: code };
  throw new ValueError("it must be by-amount, approve, decline:05 or customer-timeout");
}

/** A movement of money at the simulated bank: the truth, whatever terminal and register assume. */
interface LedgerEntry {
  readonly id: number;
  readonly at: string;
  readonly kind: LedgerKind;
  readonly amountMinor: number;
  /** ISO 4217 numeric. */
  readonly currency: string;
  readonly receiptNumber: number;
  /** The terminal's name of the transaction, where its protocol gives each one a name. */
  readonly transactionId?: string;
  readonly trace: number;
  readonly maskedPan: string;
  readonly authorisationNumber: string;
  readonly responseCode: string;
  /** Whether the terminal can no longer reverse the movement by itself (docs/zvt.md 9.1). */
  readonly final: boolean;
  /** The id of the movement that this reversal takes back; null: the movement is no reversal. */
  readonly originalId: number | null;
  /** Why money went back, or why a movement is no ordinary sale; null: it is an ordinary sale. */
  readonly reason: LedgerReason | null;
}

/** The kinds of movements. A reservation holds money without charging it; a release ends it. */
export type LedgerKind = "charge" | "reversal" | "refund" | "reservation" | "release";

export type LedgerReason =
  | "asked"
  /** The register sent no ACK of the report of the sale (docs/zvt.md 9.1). */
  | "not-acknowledged"
  /** The register reported that the goods did not come out (docs/zvt.md 8.1). */
  | "goods-not-issued"
  | "goods-partly-issued"
  /** The register's last receipt number shows that it missed the sale (1F1F, docs/zvt.md 9.4). */
  | "register-missed-it"
  /** The terminal lost power before the payment was finished. */
  | "restart"
  /** The charge comes from a reservation that was booked. */
  | "booking"
  | "fault";

/** The simulated bank: which amounts were really charged to cards and paid back to them. */
export class Ledger {
  readonly #clock: Clock;
  readonly #file: StateFile | undefined;
  readonly #entries: LedgerEntry[];

  constructor(clock: Clock, file?: StateFile) {
    this.#clock = clock;
    this.#file = file;
    this.#entries = [...(file?.read<LedgerEntry>("entry") ?? [])];
  }

  get entries(): readonly LedgerEntry[] {
    return this.#entries;
  }

  /** The sum that all cards have paid, in minor units: charges less reversals and refunds. */
  get charged(): number {
    return sumOf(this.#entries);
  }

  /** The sum that one card has paid, in minor units. */
  chargedTo(pan: string): number {
    return sumOf(this.#entries.filter(({ maskedPan }) => maskedPan === pan));
  }

  find(id: number): LedgerEntry | undefined {
    return this.#entries[id - 1];
  }

  /** The part of a movement's amount that later movements have not taken back, in minor units. */
  remaining(id: number): number {
    return this.#entries
      .filter(({ originalId }) => originalId === id)
      .reduce((left, { amountMinor }) => left - amountMinor, this.find(id)?.amountMinor ?? 0);
  }

  enter(entry: Omit<LedgerEntry, "id" | "at">): LedgerEntry {
    const at = new Date(this.#clock.now()).toISOString();
    const entered: LedgerEntry = { id: this.#entries.length + 1, at, ...entry };
    this.#entries.push(entered);
    this.#file?.keepEntry(entered);
    return entered;
  }

  /** Takes back `amountMinor` of a movement; missing: all that is left of the movement. */
  takeBack(
    id: number,
    reason: LedgerReason,
    change: { amountMinor?: number; trace: number; receiptNumber?: number },
  ): LedgerEntry {
    const original = this.find(id);
    invariant(original, `ledger entry ${id} exists`);
    const amountMinor = change.amountMinor ?? this.remaining(id);
    invariant(amountMinor <= this.remaining(id), "no more is taken back than was charged");
    const { id: _id, at: _at, ...same } = original;
    return this.enter({
      ...same,
      ...change,
      amountMinor,
      kind: original.kind === "reservation" ? "release" : "reversal",
      final: true,
      originalId: id,
      reason,
    });
  }

  /** Marks a movement as final: the terminal no longer reverses it by itself (docs/zvt.md 9.1). */
  finalise(id: number): void {
    const entry = this.find(id);
    invariant(entry, `ledger entry ${id} exists`);
    const final = { ...entry, final: true };
    this.#entries[id - 1] = final;
    this.#file?.keepEntry(final);
  }
}

/** How a movement changes what cards have paid; the other kinds of movements move no money. */
const sign: Partial<Record<LedgerKind, number>> = { charge: 1, reversal: -1, refund: -1 };

function sumOf(entries: readonly LedgerEntry[]): number {
  return entries.reduce((sum, { kind, amountMinor }) => sum + (sign[kind] ?? 0) * amountMinor, 0);
}

/** Returns the authorisation number for a trace number: six digits, the same in every run. */
export function authorisationNumber(trace: number): string {
  return String((trace * 7_919 + 100_003) % 1_000_000).padStart(6, "0");
}
