import type { AttemptInput } from "../../src/tp-manager/attempts/attempt-input.ts";
import type { AttemptState } from "../../src/tp-manager/attempts/payment.ts";
import { candidatesIn } from "../../src/tp-manager/matching/answer.ts";
import type { Probe } from "../../src/tp-manager/matching/facts.ts";
import type { Conclusion, Verdict } from "../../src/tp-manager/matching/table.ts";
import type { Baseline, TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { identityOf, lastOf } from "./device.ts";
import { begin, keepStep, keepUnmatched } from "./disk.ts";
import { entryOf } from "./entry-reports.ts";
import { Evidence } from "./evidence.ts";
import { CONFIRM_MS, type Judges, T4_MS } from "./judges.ts";
import {
  attemptOf,
  type KioskAnswer,
  latest,
  type OpenQuestion,
  type StoredAttempt,
  type WireEvidence,
  type World,
} from "./world.ts";

/**
 * The connector as a driver around the product's pure functions: a write-ahead record before a
 * command, a record before an ACK, and after a crash whatever the disk says.
 */
export class Connector {
  readonly #judges: Judges;
  readonly #evidence: Evidence;

  constructor(judges: Judges) {
    this.#judges = judges;
    this.#evidence = new Evidence(judges);
  }

  /** The way of a request for an order that is not being paid. */
  admit(world: World, order: string): void {
    const { disk, kiosk } = world;
    const index = latest(world.disk, order);
    const state = index === null ? null : attemptOf(world, index).state;
    if (index === null || !state || state.phase === "not-charged") {
      if (this.#evidence.mayBeLate(world, order)) kiosk.request = { order, stage: "asks" };
      else kiosk.request = this.isBlocked(world) ? null : { order, stage: "prepare" };
      return;
    }
    if (state.phase === "in-doubt") {
      kiosk.request = { order, stage: "asks" };
      if (!isAsked(world, index)) ask(world, "attempt", index, !disk.attempts[index]?.asked);
      return;
    }
    answerKiosk(world, order, answerOf(state));
  }

  /** The request waits for a question about its order, or about a late report of it. */
  isAsking(world: World, order: string): boolean {
    const index = latest(world.disk, order);
    if (index !== null && isAsked(world, index)) return true;
    return this.#evidence.mayBeLate(world, order);
  }

  /** After its question has ended: the answer, or a new attempt. */
  asked(world: World): void {
    const { request } = world.kiosk;
    const index = request && latest(world.disk, request.order);
    if (!request || index === null) return;
    const { state } = attemptOf(world, index);
    if (state.phase === "not-charged") this.admit(world, request.order);
    else answerKiosk(world, request.order, answerOf(state));
  }

  /** The payment that was waited for has ended, borne out (docs/rules/22-heard-end.md). */
  isAnswerable(world: World): boolean {
    const { ram, kiosk } = world;
    const index = latest(world.disk, kiosk.request?.order ?? "");
    if (ram.run !== null || index === null) return false;
    return !("heard" in attemptOf(world, index).state && isAsked(world, index));
  }

  answer(world: World): void {
    const order = world.kiosk.request?.order ?? "";
    const index = latest(world.disk, order);
    if (index !== null) answerKiosk(world, order, answerOf(attemptOf(world, index).state));
  }

  isBlocked({ ram }: World): boolean {
    return ram.inquiries.some(({ blocks }) => blocks);
  }

  prepare(world: World): void {
    const { ram, device, kiosk } = world;
    const order = kiosk.request?.order ?? "";
    if (device.lock !== null || device.swapped) {
      kiosk.request = null;
      return;
    }
    const baseline = { identity: identityOf(device), last: lastOf(device), clockOffsetMs: 0 };
    ram.baseline = baseline;
    kiosk.request = { order, stage: "ready" };
    if (this.#finds(world, baseline)) this.#askAgain(world);
  }

  /** As the product's `Unmatched.found`: what the payment would hide is asked about first. */
  #finds(world: World, baseline: Baseline): boolean {
    const { unmatched, attempts } = world.disk;
    const answer = this.#evidence.newSale(world, baseline);
    if (!answer || baseline.last.kind !== "transaction") return false;
    const { report } = baseline.last;
    const newest = unmatched.at(-1);
    const isKept = newest !== undefined && this.#judges.isSame(newest.report, report);
    // Another probe cannot find out more about a record that has no name each time.
    if (!isKept && newest?.report === report && newest.finding !== "open") return false;
    const isInDoubt = attempts.some(({ state }) => state.phase === "in-doubt");
    if (candidatesIn(answer).length > 0 || isInDoubt) return this.#unmatched(world, report);
    if (isKept) return false;
    keepUnmatched(world, report, "unclear");
    alarm(world, "sale-without-order-unclear");
    return false;
  }

  begin(world: World): void {
    const { ram, kiosk, line, device } = world;
    const { baseline } = ram;
    const order = kiosk.request?.order ?? "";
    ram.baseline = null;
    if (this.isBlocked(world) || !baseline || device.swapped) {
      kiosk.request = null;
      return;
    }
    ram.run = begin(world, order, baseline);
    ram.isCancelled = false;
    line.message = { to: "terminal", what: "payment", order };
    kiosk.request = { order, stage: "runs" };
  }

  report(world: World, report: TransactionReport): string {
    const { ram, line, disk } = world;
    const entry = entryOf(report);
    if (entry !== null) disk.heardOf.push(entry);
    if (ram.run === null) {
      line.message = { to: "terminal", what: "refuse" };
      this.#unmatched(world, report);
      return "no payment runs, refuse";
    }
    const { state, heard } = attemptOf(world, ram.run);
    const first = state.phase === "sent" && state.last?.report.good ? state.last.report : null;
    if (report.good && first && this.#judges.isSecondSale(first, report)) {
      alarm(world, "second-sale-in-payment");
      this.#advance(world, ram.run, { input: "second-sale", report });
      line.message = { to: "terminal", what: "refuse" };
      return "a second sale, refuse";
    }
    const isAlarmed = report.good && first !== null && this.#judges.mayBeSecondSale(first, report);
    if (isAlarmed) alarm(world, "second-sale-in-payment");
    const isKnown = this.#evidence.isKnown(world, ram.run, report);
    const judgement = isKnown ? "disagrees" : this.#judges.judgeReport(report);
    this.#advance(world, ram.run, { input: "report", report, judgement });
    hear(world, ram.run, { good: heard.good || report.good });
    const answer = judgement === "disagrees" ? "refuse" : "accept";
    if (answer === "refuse") alarm(world, "report-mismatch");
    line.message = { to: "terminal", what: answer };
    return `${report.good ? "good" : "not good"}, ${answer}`;
  }

  acknowledged(world: World): string | undefined {
    const { run } = world.ram;
    if (run === null) return undefined;
    this.#advance(world, run, { input: "acknowledged" });
    const { heard } = attemptOf(world, run);
    hear(world, run, { proved: heard.good });
    return undefined;
  }

  end(world: World, how: "completion" | "abort" | "lost"): string | undefined {
    const { run, isCancelled } = world.ram;
    if (run === null) return undefined;
    if (how === "completion") this.acknowledged(world);
    this.#advance(world, run, { input: "end", end: ends[how], cancelled: isCancelled });
    world.ram.run = null;
    const attempt = attemptOf(world, run);
    const { state } = attempt;
    if (how !== "lost") {
      world.disk.attempts[run] = { ...attempt, served: true };
      hear(world, run, { end: how === "abort" || lastIsBad(state) ? "bad" : "good" });
    }
    if (state.phase === "in-doubt") ask(world, "attempt", run, true);
    else this.#learn(world);
    return state.phase;
  }

  /** What was heard last of the running attempt need not be on disk yet (docs/design.md 2.1). */
  hasUnwritten(world: World): boolean {
    const { run } = world.ram;
    if (run === null) return false;
    const { state } = attemptOf(world, run);
    return state.phase === "sent" && state.last?.acknowledged === true;
  }

  /** The process is killed and started again: nothing but the disk is known. */
  crash(world: World, loses: boolean): void {
    const { disk, ram, kiosk } = world;
    if (loses && ram.run !== null) unwrite(world, ram.run);
    Object.assign(ram, { run: null, baseline: null, inquiries: [], isLockedOut: false });
    if (kiosk.request) kiosk.answers[kiosk.request.order] = "unknown";
    kiosk.request = null;
    for (const [index, { state }] of disk.attempts.entries()) {
      if (state.phase === "sent") {
        if (state.last?.report.good) hear(world, index, { cut: true });
        this.#advance(world, index, { input: "interrupted", unwritten: true });
      }
      const now = attemptOf(world, index);
      if (now.state.phase === "in-doubt") ask(world, "attempt", index, !now.asked);
    }
    for (const [index, { finding }] of disk.unmatched.entries()) {
      if (finding === "open") ask(world, "unmatched", index, true);
    }
  }

  /** A lock that only an end of day cures may be cured once the question was refused under it. */
  mayCure({ ram, kiosk, device }: World): boolean {
    if (kiosk.request?.stage === "prepare" || kiosk.request?.stage === "ready") return false;
    if (device.lock === "initialisation") return true;
    return ram.inquiries.length === 0 || ram.isLockedOut;
  }

  /** Questions that one probe answers: an unmatched transaction comes last. */
  due({ ram }: World): OpenQuestion[] {
    const open = ram.inquiries.filter(({ waits }) => waits === null);
    const isAbout = ram.inquiries.some(({ about }) => about === "attempt");
    return open.filter(({ about }) => about === "attempt" || !isAbout);
  }

  /** One probe of the terminal for everything that is due. */
  probe(world: World): string {
    const { device, ram } = world;
    if (device.lock !== null && !this.#judges.takesRefusals) {
      ram.isLockedOut = true;
      return "it refuses, because it is locked";
    }
    ram.isLockedOut = false;
    const refusal = { kind: "not-told", why: "locked" } as const;
    const last = device.lock === null ? lastOf(device) : refusal;
    const said = this.due(world).map((inquiry) => {
      const atMs = inquiry.limitOver ? T4_MS : 0;
      const verdict = this.#judge(world, inquiry, { identity: identityOf(device), last, atMs });
      return `${verdict.verdict}, because ${verdict.because}`;
    });
    return said.join("; ");
  }

  /** A wait of an inquiry has passed. */
  waited(world: World, inquiry: OpenQuestion): void {
    const limitOver = inquiry.limitOver || inquiry.waits === "limit";
    replace(world, inquiry, { ...inquiry, waits: null, limitOver });
  }

  #judge(world: World, inquiry: OpenQuestion, probe: Probe): Verdict {
    const judged = this.#evidence.judge(world, inquiry, probe);
    const isRestless = judged.verdict === "probe-again" && inquiry.probes >= PROBES_MAX;
    const verdict = isRestless ? givenUp[inquiry.about] : judged;
    if (verdict.verdict === "probe-again") {
      const waits = verdict.waitMs === CONFIRM_MS ? "confirm" : "limit";
      replace(world, inquiry, { ...inquiry, earlier: probe, probes: inquiry.probes + 1, waits });
    } else if (verdict.verdict !== "no-answer") this.#conclude(world, inquiry, verdict);
    return verdict;
  }

  #conclude(world: World, inquiry: OpenQuestion, conclusion: Conclusion): void {
    const { ram } = world;
    ram.inquiries = ram.inquiries.filter((each) => each !== inquiry);
    if (inquiry.about === "unmatched") this.#found(world, inquiry.index, conclusion);
    else this.#settle(world, inquiry.index, conclusion);
  }

  #settle(world: World, index: number, conclusion: Conclusion): void {
    world.disk.attempts[index] = { ...attemptOf(world, index), asked: true };
    switch (conclusion.verdict) {
      case "charged":
        this.#advance(world, index, { ...conclusion, input: "proved-charged" });
        return;
      case "not-charged":
        this.#advance(world, index, { ...conclusion, input: "proved-not-charged" });
        return;
      default:
        alarm(world, "payment-unknown");
    }
  }

  #found(world: World, id: number, { verdict, because }: Conclusion): void {
    const unmatched = world.disk.unmatched[id];
    if (!unmatched) return;
    let finding: string = verdict;
    for (const effect of verdict === "held" ? this.#evidence.effectsOf(world, id) : []) {
      const index = Number(effect.attempt.transactionId);
      const { report } = unmatched;
      if (effect.effect === "charge") {
        finding = "known";
        this.#advance(world, index, { input: "found-charged", report, because });
        alarm(world, "charged-late");
      } else {
        this.#advance(world, index, { input: "found-in-doubt", report, because });
        alarm(world, "payment-unknown");
      }
      const { order } = attemptOf(world, index);
      const isTwice = world.disk.attempts.some(
        (other, at) => at !== index && other.order === order && other.state.phase !== "not-charged",
      );
      if (isTwice) alarm(world, "order-charged-twice");
    }
    world.disk.unmatched[id] = { ...unmatched, finding };
    if (finding === "held") alarm(world, "sale-without-order");
    if (finding === "unclear") alarm(world, "sale-without-order-unclear");
  }

  /** What the terminal reported before a command may settle attempts that stayed unknown. */
  #learn(world: World): void {
    for (const [index, { state }] of world.disk.attempts.entries()) {
      if (state.phase !== "in-doubt" || isAsked(world, index)) continue;
      const proof = this.#evidence.judgeByNext(world, index);
      if (proof) this.#settle(world, index, proof);
    }
  }

  /** The sale may be that of an attempt which stayed unknown. */
  #askAgain(world: World): void {
    for (const [index, { state }] of world.disk.attempts.entries()) {
      if (state.phase !== "in-doubt" || isAsked(world, index)) continue;
      ask(world, "attempt", index, !world.disk.attempts[index]?.asked);
    }
  }

  /** Keeps a sale that no order is known for, and asks about it; false: that is done already. */
  #unmatched(world: World, report: TransactionReport): boolean {
    const newest = world.disk.unmatched.at(-1);
    const isOpen = newest?.finding === "open" || newest?.finding === "held";
    if (newest && isOpen && this.#judges.isSame(newest.report, report)) return false;
    const id = keepUnmatched(world, report, "open");
    alarm(world, "unexpected-report");
    ask(world, "unmatched", id, true);
    return true;
  }

  #advance(world: World, index: number, input: AttemptInput): void {
    const before = attemptOf(world, index);
    const state = this.#judges.advance(before.state, input);
    keepStep(world, index, input, state);
  }
}

/** The ACK was heard and never written. */
function unwrite(world: World, index: number): void {
  const attempt = attemptOf(world, index);
  const { state } = attempt;
  if (state.phase !== "sent" || !state.last) return;
  const last = { ...state.last, acknowledged: false };
  world.disk.attempts[index] = { ...attempt, state: { ...state, last } };
}

/** As the runner of inquiries: a terminal that shows something else each time proves nothing. */
const PROBES_MAX = 8;
const because = "each probe shows something else";
const givenUp = {
  attempt: { verdict: "unsettled", because },
  unmatched: { verdict: "unclear", because },
} as const;

const ends = {
  completion: { end: "completed", ticket: "" },
  abort: { end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" },
  lost: { end: "lost", code: "", text: "the line broke", ticket: "" },
} as const;

function isAsked({ ram }: World, index: number): boolean {
  return ram.inquiries.some((each) => each.about === "attempt" && each.index === index);
}

function ask({ ram }: World, about: OpenQuestion["about"], index: number, blocks: boolean): void {
  const asked = { earlier: null, probes: 0, waits: null, limitOver: false };
  ram.inquiries.push({ about, index, blocks, ...asked });
}

function replace({ ram }: World, inquiry: OpenQuestion, by: OpenQuestion): void {
  ram.inquiries = ram.inquiries.map((each) => (each === inquiry ? by : each));
}

function hear({ disk }: World, index: number, news: Partial<WireEvidence>): void {
  const attempt = disk.attempts[index] as StoredAttempt;
  disk.attempts[index] = { ...attempt, heard: { ...attempt.heard, ...news } };
}

function alarm({ disk }: World, name: string): void {
  if (!disk.alarms.includes(name)) disk.alarms = [...disk.alarms, name].sort();
}

function lastIsBad(state: AttemptState): boolean {
  if (state.phase === "not-charged") return true;
  return state.phase === "in-doubt" && state.last?.report.good === false;
}

function answerOf({ phase }: AttemptState): KioskAnswer {
  switch (phase) {
    case "charged":
      return "charged";
    case "not-charged":
      return "not charged";
    case "reversed":
      return "reversed";
    default:
      return "unknown";
  }
}

function answerKiosk({ kiosk }: World, order: string, reply: KioskAnswer): void {
  kiosk.answers[order] = reply;
  kiosk.request = null;
}
