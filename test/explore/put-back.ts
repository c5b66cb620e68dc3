import type { NamedRecord } from "../../src/tp-manager/attempts/comparison.ts";
import { isNotCharged } from "../../src/tp-manager/attempts/payment.ts";
import type { Answer } from "../../src/tp-manager/matching/answer.ts";
import type { Inquiry, Probe } from "../../src/tp-manager/matching/facts.ts";
import { Matcher } from "../../src/tp-manager/matching/matcher.ts";
import type { LastTransaction, TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { type Judges, product } from "./judges.ts";
import type { Scope } from "./scope.ts";
import { again, oneOrder, twoOrders, withQuirk } from "./scopes.ts";

/** A fault that the product once had, put back into its decisions. */
interface PutBack {
  readonly fault: string;
  readonly judges: Judges;
  /** Where the fault shows. */
  readonly scope: Scope;
  readonly law: string;
}

type MatcherParts = ConstructorParameters<typeof Matcher>[0];
type WhoseOptions = Parameters<Matcher["whose"]> extends [unknown, ...infer Rest] ? Rest : never;

/** For a sale that was never reported no order that was answered as not charged is a candidate. */
class ForgetsTurnedAway extends Matcher {
  readonly #records: MatcherParts["journal"]["records"];

  constructor(parts: MatcherParts) {
    super(parts);
    this.#records = parts.journal.records;
  }

  override whose(record: TransactionReport, ...how: WhoseOptions): Answer {
    const answer = super.whose(record, ...how);
    const sharing = this.#records.sharingName(record, 0);
    if (answer.answer !== "many" || sharing.length > 0) return answer;
    const [candidate, ...others] = answer.candidates.filter(
      ({ attempt }) => !isNotCharged(attempt.state),
    );
    if (!candidate || others.length > 0) return answer;
    return { answer: "one", candidate, proof: { facts: [], assumes: [] } };
  }
}

/** A record that is not reported with the very same contents counts as new. */
class ReadsLiterally extends Matcher {
  readonly #records: MatcherParts["journal"]["records"];

  constructor(parts: MatcherParts) {
    super(parts);
    this.#records = parts.journal.records;
  }

  override whose(record: TransactionReport, ...how: WhoseOptions): Answer {
    const sharing = this.#records.sharingName(record, 0);
    const isKnown = sharing.length === 0 || sharing.some(({ record: one }) => equal(one, record));
    return super.whose(isKnown ? record : another(record), ...how);
  }
}

const older = "an older terminal";
const two = twoOrders("one that keeps what was refused", { losses: 1, crashes: 0, locks: 0 });

/** Each must be found: a walk that finds nothing there proves nothing elsewhere. */
export const faultsPutBack: readonly PutBack[] = [
  {
    fault: "a late approval that the terminal keeps changes no order",
    judges: { ...product, effectsOf: () => [] },
    scope: oneOrder("one that keeps what was refused", { losses: 0, crashes: 0, locks: 0 }),
    law: "no charge is reported as not paid",
  },
  {
    fault: "a late sale that fits two orders leaves both as they were answered",
    judges: {
      ...product,
      advance: (state, given) =>
        given.input === "found-in-doubt" ? state : product.advance(state, given),
    },
    scope: two,
    law: "no charge is reported as not paid",
  },
  {
    fault: "a late sale that fits two orders proves one of them charged",
    judges: {
      ...product,
      judge: (inquiry, probe, { next, ...known }, earlier) => {
        const alone = {
          ...known,
          otherCandidate: null,
          next: next && { ...next, otherCandidate: null },
        };
        return product.judge(inquiry, probe, alone, earlier);
      },
    },
    scope: two,
    law: "no charge is reported as not paid",
  },
  {
    fault: "a sale that was never reported is that of the order in doubt alone",
    judges: { ...product, Matcher: ForgetsTurnedAway },
    scope: again,
    law: "no card is charged twice for one order",
  },
  {
    fault: "a second good result of one payment gets its ACK",
    judges: { ...product, isSecondSale: () => false },
    scope: withQuirk(older, "charges a second time", { late: 0 }),
    law: "no card is charged twice for one order",
  },
  {
    fault: "an unchanged storage weighs more than a proven ACK",
    judges: { ...product, judge: (inquiry, ...more) => product.judge(unproved(inquiry), ...more) },
    scope: withQuirk("one that answers while it pays", "repeats an older receipt", { late: 0 }),
    law: "no charge is reported as not paid",
  },
  {
    fault: "a number that is spelled otherwise is another transaction",
    judges: {
      ...product,
      isSame: equal,
      Matcher: ReadsLiterally,
      judge: (inquiry, probe, known, earlier) =>
        product.judge(literally(inquiry, probe), probe, known, earlier),
    },
    scope: withQuirk(older, "spells short", { late: 0 }),
    law: "an order is settled with its own transaction only",
  },
  {
    fault: "two transactions without a number are one",
    judges: {
      ...product,
      judge: (inquiry, probe, known, earlier) =>
        product.judge(...blindly(inquiry, probe), known, earlier),
    },
    scope: withQuirk("one that keeps what was not answered", "spells blank", { late: 0 }),
    law: "no charge is reported as not paid",
  },
  {
    fault: "a refusal under a lock ends the question",
    judges: { ...product, takesRefusals: true },
    scope: oneOrder(older, { late: 0 }),
    law: "what the terminal can prove does not stay unknown",
  },
  {
    fault: "another terminal's answer ends the question",
    judges: {
      ...product,
      judge: (...asked) => {
        const verdict = product.judge(...asked);
        if (verdict.verdict !== "no-answer") return verdict;
        return { verdict: "unsettled", because: verdict.because };
      },
    },
    scope: withQuirk(older, "is swapped for a moment", { late: 0 }),
    law: "what the terminal can prove does not stay unknown",
  },
  {
    fault: "an end that was heard is waited for in silence all the same",
    judges: {
      ...product,
      judge: (inquiry, ...more) => {
        const heard = { ...inquiry.heard, end: "unheard" } as const;
        return product.judge({ ...inquiry, heard }, ...more);
      },
    },
    scope: withQuirk(older, "takes the sale back", { late: 0 }),
    law: "a heard end needs no silence (docs/rules/22-heard-end.md)",
  },
];

function unproved(inquiry: Inquiry): Inquiry {
  return { ...inquiry, heard: { ...inquiry.heard, ackArrived: false } };
}

/** Unless every member is equal, the transaction from before is made a wholly other one. */
function literally(inquiry: Inquiry, { last }: Probe): Inquiry {
  const { before } = inquiry;
  if (before.kind !== "transaction" || last.kind !== "transaction") return inquiry;
  if (equal(before.report, last.report)) return inquiry;
  return { ...inquiry, before: { kind: "transaction", report: another(before.report) } };
}

function another(report: TransactionReport): TransactionReport {
  return { ...report, receiptNumber: "7777", traceNumber: "777777", localTime: "130303" };
}

/** What names nothing is given one name. */
function blindly(inquiry: Inquiry, probe: Probe): [Inquiry, Probe] {
  const named = (last: LastTransaction): LastTransaction => {
    if (last.kind !== "transaction" || last.report.traceNumber !== null) return last;
    const report = { ...last.report, receiptNumber: "0001", traceNumber: "000001" };
    return { kind: "transaction", report: { ...report, localDate: "0115", localTime: "130001" } };
  };
  return [
    { ...inquiry, before: named(inquiry.before) },
    { ...probe, last: named(probe.last) },
  ];
}

const members = [
  "receiptNumber",
  "traceNumber",
  "originalTrace",
  "localDate",
  "localTime",
] as const;

function equal(a: NamedRecord, b: NamedRecord): boolean {
  return members.every((member) => a[member] === b[member]);
}
