import { unlessAborted, within } from "../../shared/time.ts";
import type { AttemptInput } from "../attempts/attempt-input.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { storage } from "../attempts/failures.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { Learned } from "../matching/learned.ts";
import type { Baseline, TerminalFacts } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { Corrections } from "./corrections.ts";
import { FinancialCommands } from "./financial-commands.ts";
import { Inquiries } from "./inquiries.ts";
import { LastAnswer } from "./last-answer.ts";
import { LateResults } from "./late-results.ts";
import { type Obstacle, obstaclesOf } from "./obstacles.ts";
import { OneWay } from "./one-way.ts";
import { Reconciler } from "./reconciler.ts";
import { Recovery } from "./recovery.ts";
import { RunningPayment } from "./running-payment.ts";
import { TerminalGate } from "./terminal-gate.ts";
import { TerminalTurn } from "./terminal-turn.ts";
import { Unmatched } from "./unmatched.ts";
import { Upkeep } from "./upkeep.ts";
import { viewOf } from "./view.ts";

/** Nothing of the turn that gives anybody the terminal. */
const ofTurn = [
  "current",
  "closed",
  "updating",
  "close",
  "whenFree",
  "lackOf",
  "assertFree",
  "assertNoDoubt",
  "assertWritable",
] as const;

/**
 * Who has the terminal. Every use of the driver passes here: payments, reversals and upkeep in
 * turns, the questions of recovery and about unmatched transactions between them
 * (docs/rules/05-evidence.md).
 */
export class TerminalArbiter {
  readonly #parts: ArbiterParts;
  readonly #turn: TerminalTurn;
  readonly #gate: TerminalGate;
  readonly #lastAnswer: LastAnswer;
  readonly #inquiries: Inquiries;
  readonly #recovery: Recovery;
  readonly #unmatched: Unmatched;
  readonly #lateResults: LateResults;
  readonly #oneWay: OneWay;
  readonly #reconciler: Reconciler;
  /** The driver's facts and news for other rooms. */
  readonly terminal: TerminalFacts;
  /** Who has the terminal now. */
  readonly turn: Pick<TerminalTurn, (typeof ofTurn)[number]>;
  /** Whether this installation works with the terminal (docs/rules/12-terminal.md). */
  readonly gate: Pick<TerminalGate, "accept" | "replaced">;
  /** A payment, or the reversal of a sale. */
  readonly commands: FinancialCommands;
  /** A cancel, or a word about the goods, for the payment that has the terminal. */
  readonly running: RunningPayment;
  /** Restart and end of day. */
  readonly upkeep: Upkeep;

  constructor(parts: ArbiterParts) {
    this.#parts = parts;
    const { terminal } = parts;
    this.terminal = viewOf(terminal, "protocol", "capabilities", "state", "subscribe");
    this.#inquiries = new Inquiries({
      ...parts,
      readyToLook: async (signal) => {
        const whole = parts.guard.whole(signal);
        if (whole !== undefined) await whole;
        if (parts.probation?.isOn) await unlessAborted(parts.probation.over, signal);
        await this.#turn.whenFree();
      },
      accepted: () => parts.terminalLog.acceptedTerminal(),
      looked: (look) => this.#unmatched.looked(look),
      asking: () => this.#keepEvidence(),
    });
    const turn = new TerminalTurn(terminal, this.#inquiries, parts);
    this.#turn = turn;
    this.turn = viewOf(turn, ...ofTurn);
    this.#lastAnswer = new LastAnswer({ ...parts, turn });
    const tools = { ...parts, ...parts.settings, inquiries: this.#inquiries };
    const gate = new TerminalGate({ ...tools, lastAnswer: this.#lastAnswer });
    this.#gate = gate;
    this.gate = viewOf(gate, "accept", "replaced");
    const oneWay = new OneWay(tools);
    this.#oneWay = oneWay;
    const lateResults = new LateResults({ ...tools, oneWay });
    this.#lateResults = lateResults;
    const recovery = new Recovery({ ...tools, lateResults });
    this.#recovery = recovery;
    this.#unmatched = new Unmatched({ ...tools, corrections: new Corrections(tools) });
    const reconciler = new Reconciler(tools);
    this.#reconciler = reconciler;
    const seen = (now: Baseline): void => {
      // A sale that no order knows may be that of an attempt which stayed unknown.
      if (this.#unmatched.found(now)) recovery.askAgain();
    };
    const used = { ...tools, turn, gate, seen, recovery, reconciler };
    this.commands = new FinancialCommands({ ...used, lateResults, oneWay });
    this.running = new RunningPayment(used);
    this.upkeep = new Upkeep(used);
  }

  /** Attempts that a former process left open are put in doubt and asked about. */
  start(): void {
    const { probation } = this.#parts;
    this.#parts.terminal.subscribe((event) => {
      if (event.type !== "unmatched-report") return;
      probation?.received();
      this.#unmatched.take(event.report);
    });
    this.#reconciler.begin();
    this.#recovery.begin();
    this.#unmatched.begin();
    if (this.#parts.terminal.takeLateResults) this.#lateResults.begin();
    this.#parts.terminal.takeLateResults?.((told) => {
      probation?.received();
      return this.#lateResults.take(told);
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
      await this.running
        .cancel()
        .catch((error: unknown) =>
          log.warn({ err: error }, "what runs could not be cancelled for the stop"),
        );
    }
    await free;
    await this.#inquiries.close();
  }

  /** Why a payment of a new order would be refused now; empty: it is taken. */
  get obstacles(): readonly Obstacle[] {
    const { terminal, guard, proof } = this.#parts;
    const { closed, updating, current } = this.#turn;
    return obstaclesOf({
      closed,
      updating,
      running: current !== undefined,
      terminal: terminal.state,
      blockedBy: this.blockedBy,
      unmatchedAsked: this.unmatchedAsked,
      changed: () => this.#gate.replaced !== undefined,
      proof,
      silence: this.#lastAnswer.silence,
      storeDoubt: guard.open,
    });
  }

  /** See {@link OneWay.refusedBeside}. */
  get refusedBeside(): readonly Attempt[] {
    return this.#oneWay.refusedBeside;
  }

  /** The facts that the terminal has shown. Throws when the journal cannot be read. */
  get learned(): Learned {
    return this.#oneWay.learned;
  }

  get blockedBy(): string | undefined {
    return this.#inquiries.blockedBy;
  }

  get unmatchedAsked(): boolean {
    return this.#inquiries.unmatchedAsked;
  }

  /** The terminal has something to be asked about, for the first time or again. */
  get isAsking(): boolean {
    return this.#inquiries.isAsking;
  }

  get isLockedOut(): boolean {
    return this.#inquiries.isLockedOut;
  }

  /** Asks for the terminal's status. Takes no turn. Throws {@link TerminalUnavailable}. */
  check(signal: AbortSignal): ReturnType<LastAnswer["ask"]> {
    return this.#lastAnswer.ask(signal);
  }

  /** See {@link LastAnswer.told}. */
  get checked(): LastAnswer["told"] {
    return this.#lastAnswer.told;
  }

  /**
   * The order may be charged by a result that came after its end, and the terminal is asked
   * (docs/rules/19-late.md): resolves when that has ended. undefined: nothing of the kind is open.
   */
  lateReport(orderId: string): Promise<void> | undefined {
    return this.#unmatched.lateReport(orderId);
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
    word: Omit<Extract<AttemptInput, { input: "settled" }>, "input">,
  ): Attempt {
    const writer = new AttemptWriter(attempt, this.#parts);
    const settled = storage(() => writer.advance({ input: "settled", ...word }), "no");
    storage(() => this.#oneWay.settled(attempt, settled), "unknown");
    const { report: _, ...said } = word;
    writer.log("warn", said, "settled by an operator");
    this.#inquiries.reconsider();
    this.#parts.settled();
    return this.#lateResults.spokenFor(settled);
  }

  /** While the terminal is asked about anything it is not to change by itself. */
  #keepEvidence(): void {
    const { terminal, probation } = this.#parts;
    terminal.keepEvidence?.(this.isAsking || probation?.isOn === true);
  }
}
