import type { Difference, LedgerEntry, PlacedEntry, Suspect } from "./reconciliation.ts";

/** Orders that can explain a difference to the terminal (docs/rules/18-totals.md). Pure. */

/** More than three orders together explain a difference only by coincidence. */
const sizes = [1, 2, 3];
/** Of many orders there are too many sets of three to try. */
const TRIPLES_AMONG = 60;
const PAIRS_AMONG = 500;
const NAMED_MAX = 20;

/** Whether the terminal's totals should have it: charged, and not reversed there. */
export function isCounted({ charged, chargedMinor }: LedgerEntry): boolean {
  return charged !== "no" && chargedMinor !== null;
}

/**
 * The fewest orders that together are the difference: their answers differ from what the terminal's
 * totals say. `count` is the difference of the counts where the terminal reported one.
 */
export function explained(
  compared: readonly PlacedEntry[],
  differenceMinor: number,
  count: number | null,
  all: readonly LedgerEntry[],
): Pick<Difference, "suspects" | "isSole"> {
  const candidates = compared
    .filter((entry) => entry.wasSent && isCounted(entry) === differenceMinor < 0)
    .flatMap((entry) => amountsOf(entry).map((amountMinor) => ({ entry, amountMinor })));
  const likelyFirst = sizes.toSorted((a, b) => Number(b === count) - Number(a === count));
  for (const size of likelyFirst) {
    const found = sets(candidates, Math.abs(differenceMinor), size);
    if (found.length === 0) continue;
    const best = mostLikely(found);
    const named = new Map(best.flat().map((one) => [one.entry.transactionId, one]));
    const few = [...named.values()].slice(0, NAMED_MAX);
    const suspects = few.map((one) => suspectOf(one, all));
    return { suspects, isSole: best.length === 1 };
  }
  return { suspects: [], isSole: false };
}

interface Candidate {
  readonly entry: PlacedEntry;
  readonly amountMinor: number;
}

function amountsOf({ chargedMinor, possibleMinor }: LedgerEntry): readonly number[] {
  return chargedMinor === null ? [...new Set(possibleMinor)] : [chargedMinor];
}

/** Every set of `size` attempts whose amounts make up the sum. */
function sets(candidates: readonly Candidate[], sumMinor: number, size: number): Candidate[][] {
  if (size === 1)
    return candidates.filter((one) => one.amountMinor === sumMinor).map((one) => [one]);
  const among = candidates.slice(size === 2 ? -PAIRS_AMONG : -TRIPLES_AMONG);
  return among.flatMap((one, index) => {
    const rest = among.slice(index + 1).filter(({ entry }) => entry !== one.entry);
    if (one.amountMinor >= sumMinor) return [];
    return sets(rest, sumMinor - one.amountMinor, size - 1).map((others) => [one, ...others]);
  });
}

/** Of the sets, those where numbers are missing; of these, those without a certain answer. */
function mostLikely(found: readonly Candidate[][]): readonly Candidate[][] {
  const signs: ReadonlyArray<(entry: PlacedEntry) => boolean> = [
    ({ isInGap }) => isInGap,
    ({ answered }) => answered !== "declined",
    ({ charged }) => charged === "unknown",
  ];
  return signs.reduce((kept, isLikely) => {
    const likely = kept.filter((set) => set.every(({ entry }) => isLikely(entry)));
    return likely.length > 0 ? likely : kept;
  }, found);
}

export function suspectOf({ entry, amountMinor }: Candidate, all: readonly LedgerEntry[]): Suspect {
  const { orderId, transactionId } = entry;
  return {
    orderId,
    transactionId,
    amountMinor,
    told: answerOf(entry),
    chargedElsewhere: all.some(
      (other) =>
        other.orderId === orderId &&
        other.transactionId !== transactionId &&
        other.charged === "yes",
    ),
  };
}

function answerOf({ charged, chargedMinor, answered }: LedgerEntry): Suspect["told"] {
  if (charged === "yes") return "charged";
  if (charged === "unknown") return "unknown";
  return chargedMinor === null ? (answered ?? "failed") : "reversed";
}
