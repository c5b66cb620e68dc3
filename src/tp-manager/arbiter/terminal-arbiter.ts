import { unlessAborted, within } from "../../shared/time.ts";
import type { AttemptInput } from "../attempts/attempt-input.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { storage } from "../attempts/failures.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { Learned } from "../matching/learned.ts";
import type { Baseline, TerminalFacts } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { type CommandParts, FinancialCommands, RunningPayment } from "./financial-commands.ts";
import { Inquiries } from "./inquiries.ts";
import { LateResults } from "./late-results.ts";
import { type Obstacle, obstaclesOf } from "./obstacles.ts";
import { OneWay } from "./one-way.ts";
import { Reconciler } from "./reconciler.ts";
import { Recovery } from "./recovery.ts";
import { LastAnswer, TerminalGate } from "./terminal-gate.ts";
import { TerminalTurn } from "./terminal-turn.ts";
import { Unmatched } from "./unmatched.ts";
import { Upkeep } from "./upkeep.ts";

/** The members of the turn that give nobody the terminal. */
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
  readonly #parts: CommandParts & {
    readonly lastAnswer: LastAnswer;
    readonly unmatched: Unmatched;
  };
  /** The driver's facts and news for other rooms. */
  readonly terminal: TerminalFacts;
  /** Who has the terminal now. */
  readonly turn: Pick<TerminalTurn, (typeof ofTurn)[number]>;
  /** Whether this installation works with the terminal (docs/rules/12-terminal.md). */
  readonly gate: Pick<TerminalGate, "accept" | "replaced">;
  /** A payment, or the reversal of a sale. */
  readonly commands: FinancialCommands;
  /** A cancel, or a decision about the goods, for the payment that has the terminal. */
  readonly running: RunningPayment;
  /** Restart and end of day. */
  readonly upkeep: Upkeep;

  constructor(parts: ArbiterParts) {
    const inquiries = new Inquiries({
      ...parts,
      readyToLook: async (signal) => {
        const whole = parts.guard.whole(signal);
        if (whole !== undefined) await whole;
        if (parts.probation?.isOn) await unlessAborted(parts.probation.over, signal);
        await turn.whenFree();
      },
      accepted: () => parts.terminalLog.acceptedTerminal(),
      looked: (look) => unmatched.looked(look),
      asking: () => this.#keepEvidence(),
    });
    const turn = new TerminalTurn(inquiries, parts);
    const lastAnswer = new LastAnswer({ ...parts, turn });
    const tools = { ...parts, ...parts.settings, inquiries, turn, lastAnswer };
    const gate = new TerminalGate(tools);
    const oneWay = new OneWay(tools);
    const lateResults = new LateResults({ ...tools, oneWay });
    const recovery = new Recovery({ ...tools, lateResults });
    const unmatched = new Unmatched(tools);
    const reconciler = new Reconciler(tools);
    const seen = (now: Baseline): void => {
      // A sale that no order knows may be that of an attempt which stayed unknown.
      if (unmatched.found(now)) recovery.askAgain();
    };
    const used = { ...tools, gate, oneWay, lateResults, recovery, reconciler, seen };
    this.#parts = { ...used, unmatched };
    this.terminal = viewOf(parts.terminal, "protocol", "capabilities", "state", "subscribe");
    this.turn = viewOf(turn, ...ofTurn);
    this.gate = viewOf(gate, "accept", "replaced");
    this.commands = new FinancialCommands(used);
    this.running = new RunningPayment(used);
    this.upkeep = new Upkeep(used);
  }

  /** Attempts that a former process left open are put in doubt and asked about. */
  start(): void {
    const { probation, terminal, reconciler, recovery, unmatched, lateResults } = this.#parts;
    terminal.subscribe((event) => {
      if (event.type !== "unmatched-report") return;
      probation?.received();
      unmatched.take(event.report);
    });
    reconciler.begin();
    recovery.begin();
    unmatched.begin();
    if (terminal.takeLateResults) lateResults.begin();
    terminal.takeLateResults?.((told) => {
      probation?.received();
      return lateResults.take(told);
    });
    this.#keepEvidence();
    void probation?.over.then(() => this.#keepEvidence());
  }

  /** Refuses new work, lets what runs end, cancels a payment that takes too long. */
  async stop(): Promise<void> {
    const { turn, terminal, inquiries, clock, stopPatienceMs, log } = this.#parts;
    turn.close();
    const free = turn.whenFree().then(() => true);
    const isFree = await within(clock, "stop patience", stopPatienceMs, free);
    if (!isFree && terminal.cancel) {
      const words = "what runs could not be cancelled for the stop";
      await this.running.cancel().catch((error: unknown) => log.warn({ err: error }, words));
    }
    await free;
    await inquiries.close();
  }

  /** Why a payment of a new order would be refused now; empty: it is taken. */
  get obstacles(): readonly Obstacle[] {
    const { terminal, turn, gate, guard, proof, lastAnswer } = this.#parts;
    return obstaclesOf({
      closed: turn.closed,
      updating: turn.updating,
      running: turn.current !== undefined,
      terminal: terminal.state,
      blockedBy: this.blockedBy,
      unmatchedAsked: this.unmatchedAsked,
      changed: () => gate.replaced !== undefined,
      proof,
      silence: lastAnswer.silence,
      storeDoubt: guard.open,
    });
  }

  /** See {@link OneWay.refusedBeside}. */
  get refusedBeside(): readonly Attempt[] {
    return this.#parts.oneWay.refusedBeside;
  }

  /** The facts that the terminal has shown. Throws when the journal cannot be read. */
  get learned(): Learned {
    return this.#parts.oneWay.learned;
  }

  get blockedBy(): string | undefined {
    return this.#parts.inquiries.blockedBy;
  }

  get unmatchedAsked(): boolean {
    return this.#parts.inquiries.unmatchedAsked;
  }

  /** The terminal has something to be asked about, for the first time or again. */
  get isAsking(): boolean {
    return this.#parts.inquiries.isAsking;
  }

  get isLockedOut(): boolean {
    return this.#parts.inquiries.isLockedOut;
  }

  /** Asks for the terminal's status. Takes no turn. Throws {@link TerminalUnavailable}. */
  check(signal: AbortSignal): ReturnType<LastAnswer["ask"]> {
    return this.#parts.lastAnswer.ask(signal);
  }

  /** See {@link LastAnswer.told}. */
  get checked(): LastAnswer["told"] {
    return this.#parts.lastAnswer.told;
  }

  /**
   * The order may be charged by a result that came after its end, and the terminal is asked
   * (docs/rules/19-late.md): resolves when that has ended. undefined: nothing of the kind is open.
   */
  lateReport(orderId: string): Promise<void> | undefined {
    return this.#parts.unmatched.lateReport(orderId);
  }

  /** Asks the terminal about an attempt in doubt. Never rejects; see {@link Recovery.recover}. */
  recover(transactionId: string): Promise<void> {
    return this.#parts.recovery.recover(transactionId);
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
    storage(() => this.#parts.oneWay.settled(attempt, settled), "unknown");
    const { report: _, ...said } = word;
    writer.log("warn", said, "settled by an operator");
    this.#parts.inquiries.reconsider();
    this.#parts.settled();
    return this.#parts.lateResults.spokenFor(settled);
  }

  /** While the terminal is asked about anything it is not to change by itself. */
  #keepEvidence(): void {
    const { terminal, probation } = this.#parts;
    terminal.keepEvidence?.(this.isAsking || probation?.isOn === true);
  }
}

/**
 * An object of its own with only these members of another one, so that no cast leads from it to the
 * rest (docs/architecture.md 2.2).
 */
function viewOf<Whole extends object, Name extends keyof Whole>(
  whole: Whole,
  ...names: readonly Name[]
): Readonly<Pick<Whole, Name>> {
  const view = {};
  for (const name of names) {
    const get = (): unknown => {
      const member = whole[name];
      return typeof member === "function" ? member.bind(whole) : member;
    };
    Object.defineProperty(view, name, { enumerable: true, get });
  }
  return Object.freeze(view) as Pick<Whole, Name>;
}
