import { AppError } from "../../shared/errors.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Probation } from "../../shared/probation.ts";
import type { WriteProof } from "../../shared/stores/write-proof.ts";
import { type Clock, unlessAborted, within } from "../../shared/time.ts";
import type { AttemptInput } from "../attempts/attempt-input.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { AttemptWriter, type UnwrittenStep } from "../attempts/attempt-writer.ts";
import type { Announce } from "../attempts/event-table.ts";
import { CancelledInTime, storage } from "../attempts/failures.ts";
import type { SaleToReverse } from "../attempts/freshness-policy.ts";
import { type Attempt, isNotCharged } from "../attempts/payment.ts";
import { isInDoubt, phaseTable } from "../attempts/phase-table.ts";
import type { ReconciliationStore } from "../attempts/reconciliation.ts";
import type { StoreDoubt } from "../attempts/store-doubt.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import type { Baseline, GoodsDecision, Terminal } from "../terminal/terminal.ts";
import { Inquiries } from "./inquiries.ts";
import { KeptStatus } from "./kept-status.ts";
import { LateCharges } from "./late-charges.ts";
import { LateResults } from "./late-results.ts";
import { findReversed, saleGivenBack } from "./late-reversals.ts";
import { refusedBeside } from "./not-told-apart.ts";
import { type Obstacle, obstaclesOf } from "./obstacles.ts";
import { PaymentRun } from "./payment-run.ts";
import { Reconciler } from "./reconciler.ts";
import { Recovery } from "./recovery.ts";
import { runReversal } from "./reversal-run.ts";
import { StrayReports } from "./stray-reports.ts";
import { TerminalGate } from "./terminal-gate.ts";
import { type Doubts, TerminalTurn } from "./terminal-turn.ts";
import { TerminalView } from "./terminal-view.ts";
import { TurnView } from "./turn-view.ts";
import { type ClosingGuard, Upkeep } from "./upkeep.ts";

export interface DeskSettings {
  /** Then the terminal is asked to cancel. */
  readonly paymentTimeoutMs: number;
  /** How long the terminal may take to answer before anything financial. */
  readonly prepareMs: number;
  /** At a stop: how long a running payment may go on before it is cancelled. */
  readonly stopPatienceMs: number;
  /** Time between the two reads of a recovery. */
  readonly confirmAfterMs: number;
  /** How long a restart may take before the caller is told to wait. */
  readonly resetLimitMs: number;
  /** How long an end of day may take. */
  readonly telecollectionLimitMs: number;
  /** Others are paid at the terminal too, so its totals are not ours. */
  readonly terminalShared: boolean;
}

/** A new version that has not proved itself yet (docs/updates.md 4.3). */
type OnProbation = Pick<Probation, "isOn" | "over" | "received">;

interface DeskParts {
  readonly attempts: AttemptStore;
  readonly terminalLog: TerminalLog;
  readonly reconciliations: ReconciliationStore;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: DeskSettings;
  /** For `GET /events`. */
  readonly announce?: Announce | undefined;
  /** An attempt has become charged or reversed: there is something to hand over. */
  readonly settled: () => void;
  readonly guard: DeskGuard;
  /** Missing: there is none. */
  readonly probation?: OnProbation | undefined;
  /** Whether the journal can be written; missing: nobody looks. */
  readonly proof?: WriteProof | undefined;
}

interface DeskGuard extends ClosingGuard {
  /**
   * Resolves when the journal knows every order that is known anywhere (docs/design.md 3.17);
   * undefined: it does.
   */
  whole(signal: AbortSignal): Promise<void> | undefined;
  /** Has a sale that no order here has on disk, and doubts the journal when it is a sign. */
  noteSale(now: Baseline, limitMs: number): boolean;
  /** The journal's doubt about itself; undefined: none. */
  readonly open: StoreDoubt | undefined;
}

/** Calls of the desk to the order that is paid, made while the payment has the terminal. */
interface PaymentWork {
  /** Writes the write-ahead record. The command leaves at once afterwards. */
  begin(baseline: Baseline): Attempt;
  /** A two-phase sale was approved and waits for its goods. */
  approved(attempt: Attempt): void;
  /** The end is on disk. Must not throw. */
  ended(attempt: Attempt): void;
  /** Nothing financial has left: the attempt is recorded as failed. */
  refused(why: AppError): Attempt;
}

/**
 * Who has the terminal. Every use of the driver passes here: payments, reversals and upkeep in
 * turns, the questions of recovery and of stray reports between them (docs/design.md 3.5).
 */
export class TerminalDesk implements Doubts {
  readonly #parts: DeskParts;
  readonly #turn: TerminalTurn;
  readonly #gate: TerminalGate;
  readonly #keptStatus: KeptStatus;
  readonly #inquiries: Inquiries;
  readonly #recovery: Recovery;
  readonly #strays: StrayReports;
  readonly #lateResults: LateResults;
  readonly #reconciler: Reconciler;
  /** The driver's facts and news for other rooms. */
  readonly terminal: TerminalView;
  /** Who has the terminal now. */
  readonly turn: TurnView;
  /** Whether the terminal is the one that this installation works with (docs/design.md 3.12). */
  readonly gate: Pick<TerminalGate, "accept" | "changed">;
  /** Restart and end of day. */
  readonly upkeep: Upkeep;

  constructor(parts: DeskParts) {
    this.#parts = parts;
    const { terminal, settings, settled } = parts;
    this.terminal = new TerminalView(terminal);
    this.#turn = new TerminalTurn(terminal, this, parts);
    this.turn = new TurnView(this.#turn);
    this.#keptStatus = new KeptStatus(parts, this.#turn);
    const gate = new TerminalGate({ ...parts, ...settings });
    this.#gate = gate;
    this.gate = Object.freeze({
      accept: () => {
        const identity = gate.accept();
        this.#inquiries.reconsider();
        return identity;
      },
      get changed() {
        return gate.changed;
      },
    });
    this.#inquiries = new Inquiries({
      ...parts,
      readyToLook: async (signal) => {
        const whole = parts.guard.whole(signal);
        if (whole !== undefined) await whole;
        if (parts.probation?.isOn) await unlessAborted(parts.probation.over, signal);
        await this.#turn.whenFree();
      },
      accepted: () => parts.terminalLog.acceptedTerminal(),
      asking: () => this.#keepEvidence(),
    });
    const shared = { ...parts, ...settings, settled, inquiries: this.#inquiries };
    const lateCharges = new LateCharges(shared);
    const lateResults = new LateResults(shared);
    this.#lateResults = lateResults;
    this.#recovery = new Recovery({ ...shared, lateCharges, lateResults });
    const unmatched = (now: Baseline): void => {
      parts.guard.noteSale(now, terminal.capabilities.paymentLimitMs);
    };
    const reversed = (now: Baseline): string | undefined => findReversed(now, shared);
    const givenBack = (now: Baseline): Attempt | undefined => saleGivenBack(now, shared);
    this.#strays = new StrayReports({ ...shared, lateCharges, reversed, givenBack, unmatched });
    const reconciler = new Reconciler({ ...parts, ...settings });
    this.#reconciler = reconciler;
    this.upkeep = new Upkeep({
      ...parts,
      ...settings,
      turn: this.#turn,
      gate,
      reconciler,
      closedInDoubt: (end) => this.#recovery.closed(end),
    });
  }

  /** Attempts that a former process left open are put in doubt and asked about. */
  start(): void {
    const { probation } = this.#parts;
    this.#parts.terminal.subscribe((event) => {
      if (event.type !== "unexpected-report") return;
      probation?.received();
      this.#strays.take(event.report);
    });
    this.#reconciler.begin();
    this.#recovery.begin();
    this.#strays.begin();
    if (this.#parts.terminal.takeLateResults) this.#lateResults.begin();
    this.#parts.terminal.takeLateResults?.((report) => {
      probation?.received();
      return this.#lateResults.take(report);
    });
    this.#keepEvidence();
    void probation?.over.then(() => this.#keepEvidence());
  }

  /** Refuses new work, lets what runs end, cancels a payment that takes too long. */
  async stop(): Promise<void> {
    this.#turn.close();
    const { clock, settings, log } = this.#parts;
    const free = this.#turn.whenFree().then(() => true);
    const isFree = await within(clock, "stop patience", settings.stopPatienceMs, free);
    if (!isFree && this.#parts.terminal.cancel) {
      await this.cancel().catch((error: unknown) =>
        log.warn({ err: error }, "what runs could not be cancelled for the stop"),
      );
    }
    await free;
    this.#lateResults.close();
    await this.#inquiries.close();
  }

  /** Why a payment of a new order would be refused now; empty: it is taken. */
  get obstacles(): readonly Obstacle[] {
    const { terminal, guard, proof } = this.#parts;
    const { closed, updating, current } = this.#turn;
    return obstaclesOf({
      ...{ closed, updating, running: current !== undefined, terminal: terminal.state },
      ...{ blockedBy: this.blockedBy, strayAsked: this.strayAsked },
      ...{ changed: () => this.#gate.changed, proof },
      storeDoubt: guard.open,
    });
  }

  /** See {@link refusedBeside}. */
  get refusedBeside(): readonly Attempt[] {
    return refusedBeside(this.#parts);
  }

  get blockedBy(): string | undefined {
    return this.#inquiries.blocking.find(({ orderId }) => orderId !== null)?.orderId ?? undefined;
  }

  get strayAsked(): boolean {
    return this.#inquiries.blocking.some(({ orderId }) => orderId === null);
  }

  /** The terminal has something to be asked about, for the first time or again. */
  get isAsking(): boolean {
    return this.#inquiries.isAsking;
  }

  get isLockedOut(): boolean {
    return this.#inquiries.isLockedOut;
  }

  /**
   * Pays an order, at once or not at all: throws TERMINAL_IN_DOUBT, STOPPING, UPDATING or
   * TERMINAL_BUSY. Resolves with the attempt as it ended; rejects with STORAGE_FAILED when that is
   * not on disk.
   */
  pay(orderId: string, payment: PaymentWork): Promise<Attempt> {
    const { log, settings } = this.#parts;
    const ended = this.#turn.use("payment", orderId, {
      needs: "pay",
      prepare: (preparing) => this.#prepare(preparing),
      run: async (_terminal, baseline, turn) => {
        const begun = this.#lateResults.caughtUp(() => payment.begin(baseline));
        const { transactionId, number } = begun;
        const about = { transactionId, orderId, attempt: number };
        const unwritten: UnwrittenStep[] = [];
        const run = new PaymentRun(begun, { ...this.#parts, ...settings, unwritten });
        turn.run = run;
        void run.approved.then(payment.approved);
        const finished = run.finish();
        log.info(about, "payment begins");
        const end = await this.#ended(begun, unwritten, finished, payment.ended);
        this.#reconciler.sold(end);
        log.info(about, `payment ended: ${end.state.phase}`);
        return this.#spokenFor(end);
      },
      refused: (why) => this.#lateResults.caughtUp(() => payment.refused(why)),
    });
    return ended.then((attempt) => this.#borneOut(attempt));
  }

  /** An approval of an earlier attempt counts when this end is in vain (docs/design.md 3.25). */
  #spokenFor(end: Attempt): Attempt {
    const { terminal, attempts } = this.#parts;
    if (!terminal.takeLateResults) return end;
    terminal.endWritten?.();
    if (!isNotCharged(end.state)) return end;
    return storage(() => {
      this.#lateResults.wasInVain(end);
      return attempts.latest(end.request.orderId) ?? end;
    }, "unknown");
  }

  /** The gate, and a look at what the terminal has stored: nothing may be hidden by a sale. */
  async #prepare(preparing: AbortController): Promise<Baseline> {
    const baseline = await this.#gate.prepare(preparing);
    // The sale may be that of an attempt which stayed unknown.
    if (this.#strays.found(baseline)) this.#recovery.askAgain();
    return baseline;
  }

  /**
   * An end that was heard is answered when the terminal's storage has borne it out, which takes a
   * look or two (docs/design.md 3.22). A terminal that is away by then is not waited for.
   */
  async #borneOut(attempt: Attempt): Promise<Attempt> {
    const { clock, settings, attempts } = this.#parts;
    const { state, transactionId } = attempt;
    if (!("heard" in state)) return attempt;
    const limitMs = settings.prepareMs + settings.confirmAfterMs;
    await within(clock, "heard end", limitMs, this.#recovery.recover(transactionId));
    return attempts.read(transactionId) ?? attempt;
  }

  /**
   * Reverses a sale of an order, at once or not at all: throws as {@link pay}, and NOT_SUPPORTED.
   * `saleOf` chooses the sale, or throws, when nothing else can have the terminal any more.
   */
  reverse(orderId: string, saleOf: (baseline: Baseline) => SaleToReverse): Promise<Attempt> {
    const { log, proof } = this.#parts;
    return this.#turn.use("reversal", orderId, {
      needs: "reverse",
      // A sale that no order knows makes the reversal unsafe by itself (docs/design.md 3.16).
      prepare: (preparing) => this.#gate.prepare(preparing),
      run: async (terminal, baseline) => {
        const sale = saleOf(baseline);
        storage(() => proof?.assertKept(), "yes");
        const { transactionId } = sale.attempt;
        log.info({ transactionId, orderId }, "reversal begins");
        const unwritten: UnwrittenStep[] = [];
        const run = runReversal(sale, baseline, terminal, { ...this.#parts, unwritten });
        return await this.#ended(sale.attempt, unwritten, run);
      },
    });
  }

  /**
   * The end of something financial: in doubt it is asked about; not on disk it is not known.
   * `ended` is called first of all, because what it begins takes others some time.
   */
  async #ended(
    begun: Attempt,
    unwritten: UnwrittenStep[],
    run: Promise<Attempt>,
    ended: PaymentWork["ended"] = () => {},
  ): Promise<Attempt> {
    const { log, settled } = this.#parts;
    const end = await run.catch((error: unknown) => {
      const { transactionId } = begun;
      log.error({ transactionId, err: error, alarm: "journal" }, "an end is not on disk");
      void this.#recovery.doubted(begun, unwritten);
      throw new AppError("STORAGE_FAILED", undefined, { charged: "unknown", cause: error });
    });
    ended(end);
    if (isInDoubt(end.state)) void this.#recovery.doubted(end);
    else this.#recovery.learn();
    if (phaseTable[end.state.phase].archive === "withdrawal") settled();
    return end;
  }

  /**
   * Says whether the goods of the order on the terminal came out; see {@link PaymentRun.decide}.
   * undefined: no payment of that order is on the terminal.
   */
  decide(orderId: string, decision: GoodsDecision): ReturnType<PaymentRun["decide"]> | undefined {
    const { current } = this.#turn;
    if (current?.orderId !== orderId) return undefined;
    return current.run?.decide(decision, "the kiosk said so");
  }

  /** The terminal holds an approved sale of the order, and no word about its goods was taken. */
  awaitsGoods(orderId: string): boolean {
    const { current } = this.#turn;
    return current?.orderId === orderId && current.run?.goodsAwaitedUntilMs !== undefined;
  }

  /**
   * Asks the terminal to cancel the running payment. Resolves when it has taken the request; the
   * payment's own answer decides. Takes no turn.
   */
  async cancel(): Promise<void> {
    const { current } = this.#turn;
    if (!this.#parts.terminal.cancel) {
      // A payment that runs or begins may charge its order whatever is answered here.
      const charged = current || this.isAsking ? "unknown" : "no";
      throw new AppError("NOT_SUPPORTED", "This terminal cannot be cancelled.", { charged });
    }
    if (current?.what !== "payment") throw new AppError("NOTHING_TO_CANCEL");
    if (!current.run) {
      current.preparing.abort(new CancelledInTime());
      return;
    }
    const answer = await current.run.cancel();
    switch (answer.answer) {
      case "taken":
        return;
      case "not-able":
      case "nothing-running":
        throw new AppError("NOTHING_TO_CANCEL");
      case "refused":
        throw new AppError("CANCEL_REFUSED", undefined, {
          details: { terminalCode: answer.code, terminalText: answer.text },
        });
      case "no-answer":
        throw new AppError("CANCEL_REFUSED", `The terminal did not answer: ${answer.text}`);
    }
  }

  /** Asks for the terminal's status. Takes no turn. Throws {@link TerminalUnavailable}. */
  check(signal: AbortSignal): ReturnType<KeptStatus["ask"]> {
    return this.#keptStatus.ask(signal);
  }

  /** The last answer to {@link check}, while it still holds; see {@link KeptStatus}. */
  get checked(): KeptStatus["told"] {
    return this.#keptStatus.told;
  }

  /**
   * The order may be charged by a result that came after its end, and the terminal is asked
   * (docs/design.md 3.19): resolves when that has ended. undefined: nothing of the kind is open.
   */
  lateReport(orderId: string): Promise<void> | undefined {
    return this.#strays.lateReport(orderId);
  }

  /** Asks the terminal about an attempt in doubt. Never rejects; see {@link Recovery.recover}. */
  recover(transactionId: string): Promise<void> {
    return this.#recovery.recover(transactionId);
  }

  /**
   * Writes what an operator found out about an attempt in doubt. Nothing of it goes on the wire and
   * it ends a doubt, so it takes no turn and no doubt holds it up.
   */
  settle(
    attempt: Attempt,
    found: Omit<Extract<AttemptInput, { input: "settled" }>, "input">,
    word: { readonly outcome: string; readonly note: string },
  ): Attempt {
    const writer = new AttemptWriter(attempt, this.#parts);
    const settled = storage(
      () => writer.advance({ input: "settled", ...found }, "settled-by-operator", word),
      "no",
    );
    writer.log("warn", word, "settled by an operator");
    this.#inquiries.reconsider();
    this.#parts.settled();
    return this.#spokenFor(settled);
  }

  /** While the terminal is asked about anything it is not to change by itself. */
  #keepEvidence(): void {
    const { terminal, probation } = this.#parts;
    terminal.keepEvidence?.(this.isAsking || probation?.isOn === true);
  }
}
