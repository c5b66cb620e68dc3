import { BrokenInvariant } from "../../shared/invariant.ts";
import { type Attempt, type AttemptStep, isCharged } from "../attempts/payment.ts";
import { namesOurs, referenceOf } from "../attempts/reference-policy.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { Answer } from "../matching/answer.ts";
import type { Learned } from "../matching/learned.ts";
import {
  contradicting,
  echoFact,
  lateResult,
  notToldApart,
  type OneWayJournal,
  type OneWayLine,
  resultInPayment,
  type Told,
} from "../matching/one-way.ts";
import type { OneWayResult, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";

/**
 * The line to a terminal that cannot be asked: gives the one rule of whose result it is the journal
 * and what the terminal has shown, and keeps what a result shows (docs/rules/25-one-way.md). Every
 * member throws when the journal fails.
 */
export class OneWay {
  readonly #parts: ArbiterTools;

  constructor(parts: ArbiterTools) {
    this.#parts = parts;
  }

  get learned(): Learned {
    const { learned, setup, terminal } = this.#parts;
    return learned.of({ setup, identity: terminal.state.identity });
  }

  /** Whether a result that came while `running` has the terminal is that payment's. */
  isOf(running: Attempt, result: OneWayResult): boolean {
    const told = this.#shown(result);
    const answer = resultInPayment(told, running, this.#journal(), this.#line);
    const isOwn =
      answer.answer === "one" && answer.candidate.attempt.transactionId === running.transactionId;
    if (answer.answer === "many") {
      const { transactionId, request } = running;
      const { orderId } = request;
      this.#parts.log.warn(
        { transactionId, orderId, amountMinor: told.report.amountMinor },
        `a result that can be another order's decides nothing: ${answer.because}`,
      );
    }
    return isOwn;
  }

  /** Whose result it is that came late, and the result with what of it is a contradiction. */
  late(result: OneWayResult): { readonly report: TransactionReport; readonly answer: Answer } {
    const told = this.#shown(result);
    const { report } = told;
    const answer = lateResult(told, this.#journal(), this.#line);
    return { report, answer };
  }

  /** With what of it contradicts what was asked, or what was told before in its payment. */
  shown(report: TransactionReport, running?: Attempt): TransactionReport {
    if (!this.#parts.terminal.capabilities.cannotRefuse) return report;
    const before = running && "last" in running.state ? running.state.last?.report : undefined;
    return contradicting(report, this.learned, before);
  }

  /** An order's own result, once it is on disk, shows what this terminal gives back. */
  learn(report: TransactionReport): void {
    const { log, terminal } = this.#parts;
    if (!terminal.capabilities.cannotRefuse || report.resultCode === null) return;
    try {
      const { learned } = this;
      if (namesOurs(report)) learned.saw(echoFact(report));
      if (report.isOurRegister) learned.saw("echoes-register");
      else if (report.differs?.includes("register number") && !report.contradicts) {
        learned.contradicted("echoes-register");
      }
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      // A next result shows it again.
      log.warn({ err: error }, "the journal did not take what a result shows of the terminal");
    }
  }

  /** The attempts that references of ours name, however long ago they were begun. */
  named(references: ReadonlySet<string>): Attempt[] {
    const { attempts } = this.#parts;
    const left = new Set(references);
    const named: string[] = [];
    for (const id of attempts.ids()) {
      if (left.size === 0) break;
      if (left.delete(referenceOf(id))) named.push(id);
    }
    return named.flatMap((id) => attempts.read(id) ?? []);
  }

  /**
   * A person has found that a result which decided nothing was the order's own: nothing is waited
   * for any more, and not every result of this terminal carries what others did.
   */
  settled({ state: doubt, transactionId, request }: Attempt, { state }: Attempt): void {
    const { learned } = this;
    const { terminal, terminalLog, attempts, clock } = this.#parts;
    const own = "last" in doubt ? doubt.last?.report : undefined;
    if (isCharged(state) && own?.contradicts?.includes("register number")) {
      learned.contradicted("echoes-register");
    }
    if (!terminal.capabilities.cannotRefuse) return;
    const isGood = isCharged(state);
    const chargedMinor = isGood ? state.report.amountMinor : request.amountMinor;
    const kept = terminalLog.unmatchedSince(transactionId).map((one) => one.report);
    const report = [...(own ? [own] : []), ...kept].findLast(
      (told) =>
        told.resultCode !== null &&
        told.good === isGood &&
        !namesOurs(told) &&
        (told.amountMinor === chargedMinor || (!isGood && !told.amountMinor)),
    );
    if (!report) return;
    const note = { atMs: clock.now(), kind: TOLD_SETTLED, detail: { report } } as const;
    attempts.addEvent(transactionId, note);
    if (learned.has(echoFact(report))) learned.contradicted(echoFact(report));
  }

  /** The attempts in doubt whose amount is not sold now, the newest first. */
  get refusedBeside(): readonly Attempt[] {
    const { namesNoPayment = false } = this.#parts.terminal.capabilities;
    return notToldApart(this.#journal(), { ...this.#line, namesNothing: namesNoPayment });
  }

  get #line(): OneWayLine {
    const { sharesLine: isShared = false } = this.#parts.terminal.capabilities;
    return { isShared, holds: this.#parts.matcher.assumptions, learned: this.learned };
  }

  #shown(told: OneWayResult): OneWayResult {
    return { ...told, report: this.shown(told.report) };
  }

  #journal(): OneWayJournal {
    const { attempts, terminalLog, clock } = this.#parts;
    return {
      get open() {
        return attempts.unfinished();
      },
      get kept() {
        return terminalLog.unmatched(1)[0];
      },
      newest: () => attempts.newest(),
      hasLeft: (attempt) => attempts.canHaveLeft(attempt),
      told: ({ transactionId }) => toldIn(attempts, transactionId),
      wasToldSettled: ({ state, transactionId }) =>
        "settled" in state && attempts.events(transactionId).some(isToldSettled),
      named: (reference) => this.named(new Set([reference]))[0],
      nowMs: clock.now(),
    };
  }
}

/** The note of a result that says the same as the person who has settled its order. */
export const TOLD_SETTLED = "told-settled";
const isToldSettled = ({ kind }: AttemptStep): boolean =>
  kind === TOLD_SETTLED || kind === "told-after-charge";

/** The last result that an attempt was told. */
function toldIn(attempts: Pick<AttemptRows, "events">, transactionId: string): Told | undefined {
  for (const { atMs, detail } of attempts.events(transactionId).toReversed()) {
    const { report } = detail as { readonly report?: TransactionReport };
    if (report?.resultCode != null) return { atMs, report };
  }
  return undefined;
}
