import type { UnmatchedRow } from "../../src/tp-manager/attempts/findings.ts";
import type { Attempt } from "../../src/tp-manager/attempts/payment.ts";
import { isInDoubt } from "../../src/tp-manager/attempts/phase-table.ts";
import { type Answer, notChargedOrdersIn } from "../../src/tp-manager/matching/answer.ts";
import { assumptionsOf } from "../../src/tp-manager/matching/assumptions.ts";
import type { Inquiry, Probe } from "../../src/tp-manager/matching/facts.ts";
import type { Matcher } from "../../src/tp-manager/matching/matcher.ts";
import type { Conclusion, Verdict } from "../../src/tp-manager/matching/table.ts";
import type { Baseline, TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { DiskJournal } from "./journal.ts";
import { type Judges, T4_MS } from "./judges.ts";
import { nowMs, type OpenQuestion, type StoredUnmatched, type World } from "./world.ts";

const terminal = {
  capabilities: {
    paymentLimitMs: T4_MS,
    lastTransaction: true,
    vending: false,
    partialIssue: false,
  },
} as const;
const times = { lostSinceMs: 0, limitMs: T4_MS, printsCount: false };
const nothingLearned = {
  has: () => false,
  refuted: () => false,
  saw: () => {},
  contradicted: () => {},
};
const assumptions = assumptionsOf("asked");

/** What the product makes of a world's disk, through its own matcher. */
export class Evidence {
  readonly #judges: Judges;

  constructor(judges: Judges) {
    this.#judges = judges;
  }

  judge(world: World, { about, index, earlier }: OpenQuestion, probe: Probe): Verdict {
    const { journal, matcher } = this.#of(world);
    if (about === "unmatched") {
      const row = rowOf(world, index);
      const inquiry = this.#judges.inquiryOfUnmatched(row, times);
      return this.#judges.judge(inquiry, probe, matcher.ofUnmatched(row, probe), earlier);
    }
    const attempt = at(journal, index);
    const inquiry = inquiryOf(world, attempt, matcher);
    return this.#judges.judge(inquiry, probe, matcher.ofAttempt(attempt, probe), earlier);
  }

  judgeByNext(world: World, index: number): Conclusion | undefined {
    const { journal, matcher } = this.#of(world);
    const attempt = at(journal, index);
    const inquiry = inquiryOf(world, attempt, matcher);
    return this.#judges.judgeByNext(inquiry, matcher.ofAttempt(attempt, null));
  }

  /** A report within a payment is known to be about something else. */
  isKnown(world: World, run: number, report: TransactionReport): boolean {
    const { journal, matcher } = this.#of(world);
    return report.good && matcher.knownInPayment(report, at(journal, run)) !== undefined;
  }

  newSale(world: World, baseline: Baseline): Answer | undefined {
    return this.#of(world).matcher.newSale(baseline);
  }

  /** An open unmatched transaction may be the late report of an order answered as not charged. */
  mayBeLate(world: World, order: string): boolean {
    const { ram } = world;
    return ram.inquiries.some(
      ({ about, index }) =>
        about === "unmatched" && notChargedOrdersIn(this.#whose(world, index)).includes(order),
    );
  }

  /** What follows when the terminal keeps an unmatched transaction. */
  effectsOf(world: World, unmatched: number): ReturnType<Judges["effectsOf"]> {
    return this.#judges.effectsOf(this.#whose(world, unmatched));
  }

  #whose(world: World, index: number): Answer {
    const { report, identity, atMs } = rowOf(world, index);
    return this.#of(world).matcher.whose(report, identity, atMs);
  }

  #of(world: World): { journal: DiskJournal; matcher: Matcher } {
    const journal = new DiskJournal(world);
    const matcher = new this.#judges.Matcher({
      journal: { attempts: journal, records: journal, terminalLog: journal },
      terminal,
      assumptions,
      clock: { now: () => nowMs(world) },
      learned: () => nothingLearned,
    });
    return { journal, matcher };
  }
}

function at(journal: DiskJournal, index: number): Attempt {
  const attempt = journal.read(String(index));
  if (!attempt) throw new Error(`the walk has no attempt ${index}`);
  return attempt;
}

function rowOf({ disk }: World, id: number): UnmatchedRow {
  return { ...(disk.unmatched[id] as StoredUnmatched), id, isOfNoOrder: false };
}

function inquiryOf({ left }: World, attempt: Attempt, matcher: Matcher): Inquiry {
  const { state } = attempt;
  if (!isInDoubt(state)) throw new Error(`asked about an attempt that is ${state.phase}`);
  // A terminal that empties itself is unobserved for longer than a watch allows.
  const isWatched = !left.struck.some((fault) => fault.startsWith("empties"));
  return { ...matcher.inquiry(attempt, state, 0), isWatched };
}
