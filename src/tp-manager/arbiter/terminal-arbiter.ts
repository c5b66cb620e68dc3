import { unlessAborted, within } from "../../shared/time.ts";
import type { AttemptInput } from "../attempts/attempt-input.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { storage } from "../attempts/failures.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { Learned } from "../matching/assumptions.ts";
import type { Baseline, TerminalFacts } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { type CommandParts, FinancialCommands, RunningPayment } from "./financial-commands.ts";
import { Inquiries } from "./inquiries.ts";
import { type NotReadyReason, notReadyReasonsOf } from "./not-ready.ts";
import { OneWay } from "./one-way.ts";
import { Reconciler } from "./reconciler.ts";
import { Recovery } from "./recovery.ts";
import { IdentityCheck, LastAnswer } from "./terminal-identity.ts";
import { TerminalLease } from "./terminal-lease.ts";
import { Unmatched } from "./unmatched.ts";
import { Upkeep } from "./upkeep.ts";

/** The members of {@link TerminalLease} that give nobody the terminal. */
const ofLease = [
  "current",
  "closed",
  "updating",
  "close",
  "whenFree",
  "lackOf",
  "assertFree",
  "assertNothingInDoubt",
  "assertWritable",
] as const;

/**
 * Decides who has the terminal. Every use of the driver passes here: payments, reversals and upkeep
 * take a lease; the questions of recovery and about unmatched transactions are asked between two
 * leases (docs/rules/05-evidence.md).
 */
export class TerminalArbiter {
  readonly #parts: CommandParts & {
    readonly lastAnswer: LastAnswer;
    readonly unmatched: Unmatched;
  };
  /** The driver's facts and news for other rooms. */
  readonly terminal: TerminalFacts;
  /** Who has the terminal now. */
  readonly lease: Pick<TerminalLease, (typeof ofLease)[number]>;
  /** Whether this installation works with the terminal (docs/rules/12-terminal.md). */
  readonly identityCheck: Pick<IdentityCheck, "accept" | "replaced">;
  /** A payment, or the reversal of a sale. */
  readonly commands: FinancialCommands;
  /** A cancel, or a decision about the goods, for the payment that has the terminal. */
  readonly running: RunningPayment;
  /** Restart and end of day. */
  readonly upkeep: Upkeep;

  constructor(parts: ArbiterParts) {
    const inquiries = new Inquiries({
      ...parts,
      readyToProbe: async (signal) => {
        const whole = parts.guard.whole(signal);
        if (whole !== undefined) await whole;
        if (parts.probation?.isOn) await unlessAborted(parts.probation.over, signal);
        await lease.whenFree();
      },
      accepted: () => parts.terminalLog.acceptedTerminal(),
      probed: (probe) => unmatched.probed(probe),
      asking: () => this.#keepEvidence(),
    });
    const lease = new TerminalLease(inquiries, parts);
    const lastAnswer = new LastAnswer({ ...parts, lease });
    const tools = { ...parts, ...parts.settings, inquiries, lease, lastAnswer };
    const identityCheck = new IdentityCheck(tools);
    const oneWay = new OneWay(tools);
    const recovery = new Recovery({ ...tools, oneWay });
    const unmatched = new Unmatched(tools);
    const reconciler = new Reconciler(tools);
    const noteStored = (now: Baseline): void => {
      // A sale that no order knows may be that of an attempt which stayed unknown.
      if (unmatched.found(now)) recovery.askAgain();
    };
    const used = { ...tools, identityCheck, oneWay, recovery, reconciler, noteStored };
    this.#parts = { ...used, unmatched };
    this.terminal = viewOf(parts.terminal, "protocol", "capabilities", "state", "subscribe");
    this.lease = viewOf(lease, ...ofLease);
    this.identityCheck = viewOf(identityCheck, "accept", "replaced");
    this.commands = new FinancialCommands(used);
    this.running = new RunningPayment(used);
    this.upkeep = new Upkeep(used);
  }

  /** Attempts that a former process left open are put in doubt and asked about. */
  start(): void {
    const { probation, terminal, reconciler, recovery, unmatched, oneWay } = this.#parts;
    terminal.subscribe((event) => {
      if (event.type !== "unmatched-report") return;
      probation?.received();
      unmatched.take(event.report);
    });
    reconciler.begin();
    recovery.begin();
    unmatched.begin();
    if (terminal.takeLateResults) oneWay.begin();
    terminal.takeLateResults?.((result) => {
      probation?.received();
      return oneWay.take(result);
    });
    this.#keepEvidence();
    void probation?.over.then(() => this.#keepEvidence());
  }

  /** Refuses new work, lets what runs end, cancels a payment that takes too long. */
  async stop(): Promise<void> {
    const { lease, terminal, inquiries, clock, stopPatienceMs, log } = this.#parts;
    lease.close();
    const free = lease.whenFree().then(() => true);
    const isFree = await within(clock, "stop patience", stopPatienceMs, free);
    if (!isFree && terminal.cancel) {
      const text = "what runs could not be cancelled for the stop";
      await this.running.cancel().catch((error: unknown) => log.warn({ err: error }, text));
    }
    await free;
    await inquiries.close();
  }

  /** Why a payment of a new order would be refused now; empty: it is taken. */
  get notReadyReasons(): readonly NotReadyReason[] {
    const { terminal, lease, identityCheck, guard, proof, lastAnswer } = this.#parts;
    return notReadyReasonsOf({
      closed: lease.closed,
      updating: lease.updating,
      running: lease.current !== undefined,
      terminal: terminal.state,
      blockedBy: this.blockedBy,
      unmatchedAsked: this.unmatchedAsked,
      changed: () => identityCheck.replaced !== undefined,
      proof,
      silence: lastAnswer.silence,
      journalGap: guard.open,
    });
  }

  /** See {@link OneWay.ambiguousOrders}. */
  get ambiguousOrders(): readonly Attempt[] {
    return this.#parts.oneWay.ambiguousOrders;
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

  /** Asks for the terminal's status. Takes no lease. Throws {@link TerminalUnavailable}. */
  check(signal: AbortSignal): ReturnType<LastAnswer["ask"]> {
    return this.#parts.lastAnswer.ask(signal);
  }

  /** See {@link LastAnswer.kept}. */
  get checked(): LastAnswer["kept"] {
    return this.#parts.lastAnswer.kept;
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
   * Writes what an operator found out about an attempt in doubt. Nothing of it goes on the wire, so
   * it takes no lease, and nothing in doubt holds it up.
   */
  settle(
    attempt: Attempt,
    decision: Omit<Extract<AttemptInput, { input: "settled" }>, "input">,
  ): Attempt {
    const writer = new AttemptWriter(attempt, this.#parts);
    const settled = storage(() => writer.advance({ input: "settled", ...decision }), "no");
    storage(() => this.#parts.oneWay.settled(attempt, settled), "unknown");
    const { report: _, ...detail } = decision;
    writer.log("warn", detail, "settled by an operator");
    this.#parts.inquiries.reconsider();
    this.#parts.settled();
    return this.#parts.oneWay.decisiveAfter(settled);
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
