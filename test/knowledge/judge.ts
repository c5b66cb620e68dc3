import type { Charge, Leave, Timeline, Verdict } from "./timeline.ts";

/**
 * The judge. A verdict may be given only where it is true in every world that shows the same. The
 * connector answers the same to the same, so each world is asked for itself whether what was said
 * in it is true in it; worlds that look alike are compared to show two of them together, and to see
 * where all of them agree and the connector said "unknown" all the same.
 */

export interface Violation {
  readonly law: string;
  readonly order: string;
  readonly seq: number;
  /** What had been heard by then. */
  readonly key: string;
}

export const laws = {
  yes: "charged: yes, and the order's own command did not charge it",
  no: "charged: no, and the order is charged",
  again: "a command left for an order that was or came to be charged",
  number: "a reversal left by a number that is another sale's",
  silent: "a card was charged for nobody or twice, the terminal showed it, and no alarm names it",
  fallen: "the program fell",
} as const;

/** Charges that a revocable assumption excuses as long as nothing has shown them. */
function isExcused(charge: Charge, seq: number, revocable: readonly string[]): boolean {
  const isRevocable = charge.broke !== null && revocable.includes(charge.broke);
  return isRevocable && (charge.shown === null || charge.shown > seq);
}

const isSale = (charge: Charge): boolean => !charge.isReversal;

const stoodAt = ({ from, until }: Charge, seq: number): boolean =>
  from !== null && from < seq && (until === null || until > seq);

/** It stood then, or came to stand later and was not given back before. */
const standsFrom = ({ from, until }: Charge, seq: number): boolean =>
  from !== null && (until === null || until > seq);

const isOf = (leave: Leave, { order, attempt }: Charge): boolean =>
  leave.order === order && leave.attempt === attempt && leave.what === "payment";

/** By the amount that was asked for; another amount is a card charged for nobody. */
const of =
  (order: string) =>
  (charge: Charge): boolean =>
    isSale(charge) && charge.order === order && charge.isAsked;

export function truthOf(
  timeline: Timeline,
  { order, seq }: Pick<Verdict, "order" | "seq">,
): boolean {
  return timeline.charges.filter(of(order)).some((charge) => stoodAt(charge, seq));
}

export function judge(timeline: Timeline, revocable: readonly string[]): Violation[] {
  return [
    ...timeline.verdicts.flatMap((verdict) => judgeVerdict(timeline, verdict, revocable)),
    ...timeline.leaves.flatMap((leave) => judgeLeave(timeline, leave, revocable)),
    ...judgeSilence(timeline),
    ...timeline.fallen.map((error) => at(laws.fallen, { order: error, seq: 0, key: error })),
  ];
}

function judgeVerdict(
  timeline: Timeline,
  verdict: Verdict,
  revocable: readonly string[],
): Violation[] {
  const { order, says, seq } = verdict;
  const own = timeline.charges.filter(of(order));
  if (says === "yes") {
    return own.some((charge) => stoodAt(charge, seq)) ? [] : [at(laws.yes, verdict)];
  }
  if (says === "unknown") return [];
  // The word is about what had left by then.
  const hadLeft = (charge: Charge): boolean =>
    timeline.leaves.some((leave) => leave.seq < seq && isOf(leave, charge));
  const contrary = own.some(
    (charge) => standsFrom(charge, seq) && hadLeft(charge) && !isExcused(charge, seq, revocable),
  );
  return contrary ? [at(laws.no, verdict)] : [];
}

function judgeLeave(timeline: Timeline, leave: Leave, revocable: readonly string[]): Violation[] {
  const { what, order, attempt, seq, names } = leave;
  if (what === "reversal") {
    const named = names === null ? undefined : timeline.charges[names];
    return named === undefined || named.order === order ? [] : [at(laws.number, leave)];
  }
  const charged = timeline.charges
    .filter(of(order))
    .filter((charge) => charge.attempt < attempt && standsFrom(charge, seq))
    .filter((charge) => !isExcused(charge, seq, revocable));
  return charged.length === 0 ? [] : [at(laws.again, leave)];
}

/** What stands at the end for nobody, or once more than was asked, needs a person. */
function judgeSilence(timeline: Timeline): Violation[] {
  const standing = timeline.charges.filter(
    (charge) =>
      isSale(charge) && charge.attempt > 0 && charge.shown !== null && standsFrom(charge, Infinity),
  );
  const tooMuch = standing.filter((charge) => {
    // At a shared terminal a sale of another amount may be any customer's of the staff.
    if (!charge.isAsked) return !timeline.isShared;
    return standing.some(
      (other) => other !== charge && other.isAsked && other.order === charge.order,
    );
  });
  const orders = new Set(tooMuch.map(({ order }) => order));
  const isNamed = (order: string): boolean =>
    timeline.alarms.some(({ names }) => names.includes(order));
  return [...orders]
    .filter((order) => !isNamed(order))
    .map((order) => at(laws.silent, { order, seq: Infinity, key: "" }));
}

const at = (
  law: string,
  { order, seq, key }: Pick<Violation, "order" | "seq" | "key">,
): Violation => ({ law, order, seq, key });
