import type { AttemptState } from "../../src/tp-manager/attempts/payment.ts";
import type { LastTransaction } from "../../src/tp-manager/terminal/terminal.ts";
import { isStoreHarm, type Plan, type Step } from "./plan.ts";

const MINUTE_MS = 60_000;

/** What the terminal had stored before the order; undefined: that is not asked. */
type Before = LastTransaction["kind"] | undefined;

/** A situation in which the truth cannot be had, written down before any run. */
interface Row {
  readonly situation: string;
  readonly is: (
    plan: Plan,
    struck: ReadonlySet<string>,
    before?: Before,
    state?: AttemptState,
  ) => boolean;
  /** After the last fault a sale is made within this time, whatever stays unknown. */
  readonly nextSaleWithinMs: number;
}

const happens =
  (...names: readonly Step["do"][]) =>
  ({ steps }: Pick<Plan, "steps">): boolean =>
    steps.some((step) => names.includes(step.do));

const ends =
  (...outcomes: readonly string[]) =>
  ({ behaviours }: Plan): boolean =>
    behaviours.some(({ outcome }) => outcomes.includes(outcome));

const turnsAway = ends("walk-away", "other-amount", "report-then-abort-reversed");

/** Two orders are paid with one amount. */
function sharesAmount({ steps }: Plan): boolean {
  const paid = steps.flatMap((step) =>
    step.do === "pay" ? [`${step.order} ${step.amountMinor}`] : [],
  );
  const amounts = [...new Set(paid)].map((each) => each.split(" ")[1]);
  return new Set(amounts).size < amounts.length;
}

/** The rows in which an order may end unknown (docs/rules/02-proof.md). In no other one it may. */
const rows: readonly Row[] = [
  {
    situation: "another terminal is there for good, or an operator has accepted one",
    is: (plan, struck) => happens("replace-terminal")(plan) || struck.has("accept-terminal"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "the storage was empty before the payment: what is gone from it looks like nothing",
    is: (_plan, _struck, before) => before === "none",
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    // Whether our ACK arrived is written after the report (docs/design.md 2.1).
    situation: "the program was killed between a good report and the next commit",
    is: (_plan, _struck, _before, state) => state !== undefined && "perhapsTaken" in state,
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "the terminal does not report what it has stored",
    is: happens("not-told"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "what was stored was closed or is lost",
    is: happens("end-of-day", "terminal-forgets", "numbers-start-over", "closes-by-itself"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "a database was lost or put back, with what it knew of an attempt",
    is: (plan) => plan.steps.some(isStoreHarm),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "the terminal keeps a sale and hides it, so that only its number is missing",
    is: (_plan, struck) => struck.has("hides a kept sale"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "two spellings of a number leave open whether they mean one transaction",
    is: happens("spells-numbers"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "the terminal contradicts what was proved on the wire",
    is: happens("answers-stale"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "a reversal in doubt names no original",
    is: ({ behaviours, steps }) =>
      happens("reverse")({ steps }) && behaviours.some(({ numbersOriginal }) => !numbersOriginal),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "a sale that nobody asked for can be taken for the one in doubt",
    is: happens("unmatched-sale"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "a sale was never reported, and an order of its amount was turned away before it",
    is: (plan) => sharesAmount(plan) && (happens("cancel")(plan) || turnsAway(plan)),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    // It took our ACK and reversed all the same (docs/rules/28-unchanged-storage.md).
    situation: "the terminal contradicts its own approval",
    is: ends("report-then-abort-reversed"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
  {
    situation: "the terminal charged something else than was asked, or says nothing clear",
    is: ends("other-amount", "no-result-code", "report-then-abort-kept", "no-report"),
    nextSaleWithinMs: 10 * MINUTE_MS,
  },
];

/** Where everything can be proved, recovery needs the terminal's own time limit and some probes. */
const NEXT_SALE_MS = 10 * MINUTE_MS;

export const mayStayUnknown = (
  plan: Plan,
  struck: ReadonlySet<string>,
  before: Before,
  state: AttemptState | undefined,
): boolean => rows.some(({ is }) => is(plan, struck, before, state));

/** Milliseconds after the last fault within which a sale is made again. */
export function nextSaleWithinMs(plan: Plan, struck: ReadonlySet<string>): number {
  const found = rows.filter(({ is }) => is(plan, struck));
  return Math.max(NEXT_SALE_MS, ...found.map((row) => row.nextSaleWithinMs));
}
