import type { AttemptStore } from "../../src/tp-manager/attempts/attempt-store.ts";
import {
  type Attempt,
  type PaymentRequest,
  saleOf,
} from "../../src/tp-manager/attempts/payment.ts";
import type { Known, Look, NextCommand } from "../../src/tp-manager/matching/facts.ts";
import type { Conclusion, Verdict } from "../../src/tp-manager/matching/table.ts";
import type {
  Baseline,
  LastTransaction,
  TransactionReport,
} from "../../src/tp-manager/terminal/terminal.ts";
import { AMOUNT_MINOR } from "./entry-reports.ts";
import { type Judges, T4_MS } from "./judges.ts";
import {
  attemptOf,
  type Inquiry,
  type StoredAttempt,
  type StoredStray,
  type World,
} from "./world.ts";

const SENT_AT_MS = new Date(2026, 0, 15, 13, 0, 0).getTime();
const times = { lostSinceMs: 0, limitMs: T4_MS, printsCount: false };

/** Puts what the disk knows beside a look, as the journal does, and has the product judge. */
export class Evidence {
  readonly #judges: Judges;

  constructor(judges: Judges) {
    this.#judges = judges;
  }

  judge(world: World, { about, index, earlier }: Inquiry, look: Look): Verdict {
    if (about === "stray") {
      const stray = world.disk.strays[index] as StoredStray;
      const { report, identity } = stray;
      const row = { id: index, atMs: SENT_AT_MS, report, identity, isUnmatched: false };
      const doubt = this.#judges.doubtOfStray(row, times);
      return this.#judges.judge(doubt, look, this.#knownOfStray(world, stray), earlier);
    }
    const known = this.#knownOfAttempt(world, index, look.last);
    return this.#judges.judge(this.#doubt(world, index), look, known, earlier);
  }

  judgeByNext(world: World, index: number): Conclusion | undefined {
    const known = this.#knownOfAttempt(world, index, null);
    return this.#judges.judgeByNext(this.#doubt(world, index), known);
  }

  /** A sale that the terminal has stored and that no order knows. */
  unknownSale({ disk }: World, baseline: Baseline): TransactionReport | undefined {
    const newestFirst = [...disk.attempts].reverse();
    const newest = (): ReturnType<AttemptStore["newest"]> =>
      newestFirst.map((each) => ({ attempt: fullOf(each), position: 0 }));
    const orderOfReport = (report: TransactionReport): string | undefined =>
      this.#orderOf(disk.attempts, report, null) ?? undefined;
    return this.#judges.unknownSale({ newest, orderOfReport }, baseline);
  }

  /** An open stray that can be the late report of an order which was told as not charged. */
  lateReportOf(world: World, order: string): number | null {
    const { ram, disk } = world;
    const open = ram.inquiries.find(({ about, index }) => {
      const stray = about === "stray" ? disk.strays[index] : undefined;
      return (
        stray && this.#fitting(world, stray).some((each) => disk.attempts[each]?.order === order)
      );
    });
    return open?.index ?? null;
  }

  /** The one attempt that becomes charged by a late report that the terminal has kept. */
  lateChargeOf(world: World, stray: StoredStray, look: Look): number | null {
    const { attempts, closings } = world.disk;
    const fitting = this.#fitting(world, stray);
    const newest = attempts.length - 1;
    const orders = new Set(fitting.map((index) => attempts[index]?.order));
    for (const index of this.#doubtful(world, stray)) orders.add(attempts[index]?.order);
    if (fitting.at(-1) !== newest || orders.size !== 1) return null;
    if (closings > (attempts[newest]?.closings ?? 0)) return null;
    const known = {
      ...this.#knownOfAttempt(world, newest, look.last),
      rival: null,
      next: null,
      soldSince: false,
    };
    const doubt = this.#judges.doubtOfLateReport(fullOf(attemptOf(world, newest)), stray.report, {
      ...times,
      lostSinceMs: look.atMs,
    });
    const { verdict } = this.#judges.judge(doubt, look, known, look);
    return verdict === "charged" ? newest : null;
  }

  /**
   * Of each order that the sale can be of, its newest fitting attempt, when all attempts of the
   * order were in vain: no one order is known to have made the sale.
   */
  lateDoubtsOf(world: World, stray: StoredStray): number[] {
    const { attempts } = world.disk;
    const isInVain = (order: string | undefined): boolean =>
      attempts.every((each) => each.order !== order || each.state.phase === "not-charged");
    const newest = new Map(
      this.#fitting(world, stray).map((index) => [attempts[index]?.order, index]),
    );
    return [...newest].filter(([order]) => isInVain(order)).map(([, index]) => index);
  }

  #fitting({ disk }: World, { report }: StoredStray): number[] {
    if (!this.#judges.findsLate || this.#judges.judgeReport(report) !== "agrees") return [];
    return disk.attempts.flatMap(({ state, served, asked }, index) =>
      state.phase === "not-charged" && (served || asked) ? [index] : [],
    );
  }

  #doubt(world: World, index: number): ReturnType<Judges["doubtOfAttempt"]> {
    const attempt = attemptOf(world, index);
    const { state } = attempt;
    if (state.phase !== "in-doubt")
      throw new Error(`asked about an attempt that is ${state.phase}`);
    // A terminal that empties itself is out of sight for longer than a watch allows.
    const isWatched = !world.left.struck.some((fault) => fault.startsWith("empties"));
    const doubt = { ...this.#judges.doubtOfAttempt(fullOf(attempt), state, times), isWatched };
    const late = doubt.heard.good ? null : this.#reportedLate(world);
    return late ? { ...doubt, heard: { ...doubt.heard, good: late, refused: true } } : doubt;
  }

  /** A result that came on the next line is that of the only attempt in doubt. */
  #reportedLate({ disk }: World): TransactionReport | null {
    if (disk.attempts.filter(({ state }) => state.phase === "in-doubt").length !== 1) return null;
    const stray = disk.strays.findLast(
      ({ report }) => this.#judges.judgeReport(report) === "agrees",
    );
    return stray?.report ?? null;
  }

  #knownOfAttempt(world: World, index: number, found: LastTransaction | null): Known {
    const { disk } = world;
    const ownerOf = (last: LastTransaction): string | null =>
      last.kind === "transaction" ? this.#orderOf(disk.attempts, last.report, index) : null;
    const after = disk.attempts[index + 1];
    const sale = after && saleOf(after.state);
    const next: NextCommand | null = after
      ? {
          identity: after.baseline.identity,
          found: after.baseline.last,
          foundIs: ownerOf(after.baseline.last),
          rival: this.#rivalOf(world, index, after.baseline.last),
          served: after.served,
          receiptNumber: sale?.by === "payment" ? sale.report.receiptNumber : null,
          formerReceipt: null,
        }
      : null;
    return {
      foundIs: found && ownerOf(found),
      rival: found && this.#rivalOf(world, index, found),
      strayIs: null,
      next,
      soldSince: next !== null,
      closedSince: disk.closings > (disk.attempts[index]?.closings ?? 0),
    };
  }

  /** Another order that what was reported when nothing ran can be of. */
  #rivalOf(world: World, index: number, last: LastTransaction): string | null {
    if (last.kind !== "transaction") return null;
    const { attempts, strays } = world.disk;
    const own = attempts[index]?.order;
    const fitting = strays
      .filter(({ report }) => this.#judges.canBeSame(report, last.report))
      .flatMap((stray) => [...this.#fitting(world, stray), ...this.#doubtful(world, stray)]);
    fitting.push(...this.#turnedAwayBefore(world, index, last.report));
    const orders = fitting.map((each) => attempts[each]?.order ?? null);
    return orders.find((order) => order !== own) ?? null;
  }

  /** Payments that the terminal had ended before: a sale that it never reported can be theirs. */
  #turnedAwayBefore(world: World, index: number, report: TransactionReport): number[] {
    const { state } = attemptOf(world, index);
    const own = "last" in state ? state.last?.report : undefined;
    if (!this.#judges.knowsTurnedAway || (own && this.#judges.isSame(own, report))) return [];
    return world.disk.attempts
      .slice(0, index)
      .flatMap(({ state: { phase }, heard }, each) =>
        phase === "not-charged" && heard.end === "bad" ? [each] : [],
      );
  }

  #doubtful({ disk }: World, { report }: StoredStray): number[] {
    if (this.#judges.judgeReport(report) !== "agrees") return [];
    return disk.attempts.flatMap(({ state }, index) => {
      if (state.phase !== "in-doubt") return [];
      const good = state.last?.report.good && !state.told ? state.last.report : null;
      return good === null || this.#judges.canBeSame(good, report) ? [index] : [];
    });
  }

  #knownOfStray({ disk }: World, { report, attempts, closings }: StoredStray): Known {
    return {
      foundIs: null,
      rival: null,
      strayIs: this.#orderOf(disk.attempts, report, null),
      next: null,
      soldSince: disk.attempts.slice(attempts).some(({ state }) => state.phase !== "not-charged"),
      closedSince: disk.closings > closings,
    };
  }

  #orderOf(
    attempts: readonly StoredAttempt[],
    report: TransactionReport,
    except: number | null,
  ): string | null {
    const owner = attempts.find(({ state }, index) => {
      const own = index === except ? undefined : saleOf(state)?.report;
      return own !== undefined && this.#judges.isSame(own, report);
    });
    return owner?.order ?? null;
  }
}

/** No rule of recovery knows the order's id or what the answer echoes. */
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

function fullOf({ state, baseline }: StoredAttempt): Attempt {
  return {
    transactionId: "",
    number: 1,
    request,
    state,
    startedAtMs: SENT_AT_MS,
    endedAtMs: SENT_AT_MS,
    baseline,
    ticket: "",
    returnedMinor: 0,
    returnedSome: false,
    openReturn: null,
  };
}
