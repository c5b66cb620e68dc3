import { invariant } from "../../../shared/invariant.ts";
import type { Clock } from "../../../shared/time.ts";
import type { StateFile } from "../memory/state-file.ts";

/** One movement as the "bank" sees it, whatever terminal and register believe. */
interface LedgerEntry {
  readonly id: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly kind: LedgerKind;
  readonly amountMinor: number;
  /** ISO 4217 numeric. */
  readonly currency: string;
  readonly receiptNumber: number;
  readonly trace: number;
  readonly maskedPan: string;
  readonly authorisationNumber: string;
  /** ISO 8583. */
  readonly responseCode: string;
  /** The terminal has stored it for good: its acknowledgements came (docs/zvt.md 9.1). */
  readonly final: boolean;
  /** The entry that a reversal takes back. */
  readonly originalId: number | null;
  /** Why money went back, or why an entry is not an ordinary sale. */
  readonly reason: LedgerReason | null;
}

/** A reservation holds money and charges nothing; it ends with a release, and often a charge. */
export type LedgerKind = "charge" | "reversal" | "refund" | "reservation" | "release";

export type LedgerReason =
  /** Asked for by the register. */
  | "asked"
  /** The register did not acknowledge (docs/zvt.md 9.1). */
  | "not-acknowledged"
  /** The register said that the goods did not come out (docs/zvt.md 8.1). */
  | "goods-not-issued"
  | "goods-partly-issued"
  /** The register named an older receipt number as the last it knows (1F1F, docs/zvt.md 9.4). */
  | "register-missed-it"
  /** The terminal lost power with the payment unfinished. */
  | "restart"
  /** A reservation was turned into a sale. */
  | "booking"
  | "fault";

type NewEntry = Omit<LedgerEntry, "id" | "at" | "originalId" | "reason"> &
  Partial<Pick<LedgerEntry, "originalId" | "reason">>;

/** The simulated bank: what cards were really charged and given back. */
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

  /** Minor units that customers have really paid: charges less reversals and refunds. */
  get charged(): number {
    return this.#entries.reduce((sum, { kind, amountMinor }) => sum + sign[kind] * amountMinor, 0);
  }

  /** Minor units that one card has really paid. */
  chargedTo(pan: string): number {
    return this.#entries
      .filter(({ maskedPan }) => maskedPan === pan)
      .reduce((sum, { kind, amountMinor }) => sum + sign[kind] * amountMinor, 0);
  }

  find(id: number): LedgerEntry | undefined {
    return this.#entries[id - 1];
  }

  /** Minor units left of an entry after all later entries that took some of it back. */
  remaining(id: number): number {
    return this.#entries
      .filter(({ originalId }) => originalId === id)
      .reduce((left, { amountMinor }) => left - amountMinor, this.find(id)?.amountMinor ?? 0);
  }

  enter(entry: NewEntry): LedgerEntry {
    const entered: LedgerEntry = {
      id: this.#entries.length + 1,
      at: new Date(this.#clock.now()).toISOString(),
      originalId: null,
      reason: null,
      ...entry,
    };
    this.#entries.push(entered);
    this.#file?.keepEntry(entered);
    return entered;
  }

  /** Takes back `amountMinor` of an entry, all that is left of it when not given. */
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

  /** The terminal has stored it for good (docs/zvt.md 9.1). */
  finalise(id: number): void {
    const entry = this.find(id);
    invariant(entry, `ledger entry ${id} exists`);
    const final = { ...entry, final: true };
    this.#entries[id - 1] = final;
    this.#file?.keepEntry(final);
  }
}

const sign: Readonly<Record<LedgerKind, number>> = {
  charge: 1,
  reversal: -1,
  refund: -1,
  reservation: 0,
  release: 0,
};

/** Six digits that differ from payment to payment, and are the same in every run. */
export function authorisationNumber(trace: number): string {
  return String((trace * 7_919 + 100_003) % 1_000_000).padStart(6, "0");
}
