import { AppError } from "../../shared/catalog/errors.ts";
import { unlessAborted, within } from "../../shared/time.ts";
import type { AttemptInput } from "../attempts/attempt-input.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { storage, unavailableCodes } from "../attempts/failures.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { TerminalFacts, TerminalState, TerminalUnavailable } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { type ArbiterTools, FinancialCommands, RunningPayment } from "./financial-commands.ts";
import { Inquiries } from "./inquiries.ts";
import { OneWay } from "./one-way.ts";
import { Reconciler } from "./reconciler.ts";
import { Recovery } from "./recovery.ts";
import { IdentityCheck, LastAnswer } from "./terminal-identity.ts";
import {
  closedBy,
  inquiryReason,
  type NotReadyReason,
  TerminalLease,
  unwritableBy,
} from "./terminal-lease.ts";
import { Unmatched } from "./unmatched.ts";
import { Upkeep } from "./upkeep.ts";

/** The members of {@link TerminalLease} for other folders; none gives access to the terminal. */
const ofLease = [
  "current",
  "stopping",
  "updating",
  "close",
  "whenFree",
  "lackOf",
  "assertFree",
  "assertNothingInDoubt",
  "assertWritable",
] as const;
const ofInquiries = ["blockedBy", "unmatchedAsked", "isAsking", "untilMs", "isLockedOut"] as const;

/**
 * Decides who has the terminal. Every use of the driver passes through this class: payments,
 * reversals and maintenance take a lease; recovery's probes, also for unmatched transactions, run
 * between two leases (docs/rules/05-evidence.md).
 */
export class TerminalArbiter {
  readonly #parts: ArbiterParts;
  readonly #tools: ArbiterTools;
  readonly terminal: TerminalFacts;
  readonly lease: Pick<TerminalLease, (typeof ofLease)[number]>;
  readonly inquiries: Pick<Inquiries, (typeof ofInquiries)[number]>;
  readonly identityCheck: Pick<IdentityCheck, "accept" | "replaced">;
  /** The terminal's last status, for people. Asking for the status needs no lease. */
  readonly lastAnswer: Pick<LastAnswer, "ask" | "kept" | "silence">;
  /** What is known about a one-way terminal; undefined: the terminal answers queries. */
  readonly oneWay: Pick<OneWay, "ambiguousOrders" | "learned"> | undefined;
  readonly recovery: Pick<Recovery, "recover" | "returned">;
  readonly unmatched: Pick<Unmatched, "lateReport">;
  readonly commands: FinancialCommands;
  readonly running: RunningPayment;
  readonly upkeep: Upkeep;

  constructor(parts: ArbiterParts) {
    const inquiries = new Inquiries(parts, {
      readyToProbe: async (signal) => {
        if (parts.probation?.isOn) await unlessAborted(parts.probation.over, signal);
        // The work that has the terminal may find that the journal lacks orders.
        do {
          await lease.whenFree();
          await parts.guard.whole(signal);
        } while (lease.current);
      },
      probed: (probe) => unmatched.probed(probe),
      asking: () => this.#keepEvidence(),
    });
    const lease = new TerminalLease(parts, inquiries);
    const lastAnswer = new LastAnswer(parts, lease);
    const identityCheck = new IdentityCheck(parts, inquiries, lastAnswer);
    const oneWay = parts.terminal.takeLateResults && new OneWay(parts, inquiries);
    const recovery = new Recovery(parts, inquiries, oneWay);
    const unmatched = new Unmatched(parts, inquiries);
    const reconciler = new Reconciler(parts);
    const tools = { lease, inquiries, identityCheck, oneWay, recovery, unmatched, reconciler };
    this.#parts = parts;
    this.#tools = tools;
    this.terminal = viewOf(parts.terminal, "capabilities", "state", "subscribe");
    this.lease = viewOf(lease, ...ofLease);
    this.inquiries = viewOf(inquiries, ...ofInquiries);
    this.identityCheck = viewOf(identityCheck, "accept", "replaced");
    this.lastAnswer = viewOf(lastAnswer, "ask", "kept", "silence");
    this.oneWay = oneWay && viewOf(oneWay, "ambiguousOrders", "learned");
    this.recovery = viewOf(recovery, "recover", "returned");
    this.unmatched = viewOf(unmatched, "lateReport");
    this.commands = new FinancialCommands(parts, tools);
    this.running = new RunningPayment(parts, tools);
    this.upkeep = new Upkeep(parts, tools);
  }

  /** Puts in doubt the attempts that an earlier process left running, and probes the terminal. */
  start(): void {
    const { probation, terminal } = this.#parts;
    const { reconciler, recovery, unmatched, oneWay } = this.#tools;
    terminal.subscribe((event) => {
      if (event.type !== "unmatched-report") return;
      probation?.received();
      unmatched.take(event.report);
    });
    reconciler.begin();
    recovery.begin();
    unmatched.begin();
    if (oneWay) {
      oneWay.begin();
      terminal.takeLateResults?.((result) => {
        probation?.received();
        return oneWay.take(result);
      });
    }
    this.#keepEvidence();
    void probation?.over.then(() => this.#keepEvidence());
  }

  /** Refuses new work, lets running work end, and cancels a payment that takes too long. */
  async stop(): Promise<void> {
    const { terminal, clock, settings, log } = this.#parts;
    const { lease, inquiries, recovery } = this.#tools;
    lease.close();
    recovery.close();
    const free = lease.whenFree().then(() => true);
    const isFree = await within(clock, "stop patience", settings.stopPatienceMs, free);
    if (!isFree && terminal.cancel) {
      const text = "what runs at the terminal could not be cancelled for the stop";
      await this.running.cancel(true).catch((error: unknown) => log.warn({ err: error }, text));
    }
    await free;
    await inquiries.close();
  }

  /**
   * The reasons why a payment of a new order would be refused now; empty when it would be accepted.
   * The lease throws these reasons as errors, and `/health`, `/check`, `/metrics`, `launch.sh
   * status`, the doctor and the console show them (docs/rules/05-evidence.md). A running payment is
   * no reason, because it ends by itself.
   */
  get notReadyReasons(): readonly NotReadyReason[] {
    const { guard, proof } = this.#parts;
    const { lease, inquiries, identityCheck } = this.#tools;
    const { state } = this.#parts.terminal;
    const isRunning = lease.current !== undefined;
    // While a command runs, no test write is made: the terminal would have to wait for the disk.
    const isHeld = isRunning || state.busy;
    return [
      closedBy(lease),
      terminalReason(state, isRunning, this.lastAnswer.silence),
      inquiryReason(inquiries),
      changedReason(identityCheck),
      unwritableBy(isHeld ? proof?.known : proof?.proved),
      gapReason(guard.unanswered),
    ].filter((one) => one !== undefined);
  }

  /**
   * Writes an operator's finding about an attempt in doubt. Nothing is sent to the terminal, so no
   * lease is needed and no other attempt in doubt delays the settlement. Throws PAYMENT_RUNNING
   * while a terminal that is asked by id can still carry the command out.
   */
  settle(
    attempt: Attempt,
    decision: Omit<Extract<AttemptInput, { input: "settled" }>, "input">,
  ): void {
    const { inquiries, oneWay, recovery } = this.#tools;
    const leftMs = this.runsForMs(attempt);
    if (leftMs > 0) {
      const seconds = Math.ceil(leftMs / 1_000);
      const text = `The terminal may still carry this out for ${seconds} s: settle it after that.`;
      throw new AppError("PAYMENT_RUNNING", text);
    }
    const writer = new AttemptWriter(attempt, this.#parts);
    const settled = storage(() => writer.advance({ input: "settled", ...decision }), "unknown");
    const { report: _, ...detail } = decision;
    writer.log("warn", detail, "an operator settled the attempt");
    recovery.lost.forget(attempt);
    inquiries.reconsider();
    this.#parts.settled();
    storage(() => oneWay?.settled(attempt, settled), "unknown", true);
    this.#parts.terminal.endWritten?.();
  }

  /** Returns for how long (ms) the command can still run: an operator's finding is refused. */
  runsForMs(attempt: Attempt): number {
    return storage(() => this.#tools.recovery.runsForMs(attempt), "unknown");
  }

  /** Forbids the driver to change the terminal's storage while a probe still has to read it. */
  #keepEvidence(): void {
    const { terminal, probation } = this.#parts;
    terminal.keepEvidence(this.#tools.inquiries.isAsking || probation?.isOn === true);
  }
}

/** Returns why the terminal would refuse a payment by its last known state, without asking it. */
function terminalReason(
  { link, linkProblem, status }: TerminalState,
  isRunning: boolean,
  silence: TerminalUnavailable | undefined,
): NotReadyReason | undefined {
  if (link !== "connected") {
    const says = `no link to the terminal: ${linkProblem ?? link}`;
    return { code: "TERMINAL_DISCONNECTED", says };
  }
  if (status?.cr === "1" && !isRunning) {
    return { code: "TERMINAL_BUSY", says: `the terminal is busy by itself: ${status.detail}` };
  }
  if (status?.cr === "2") {
    return { code: "TERMINAL_OUT_OF_ORDER", says: `the terminal needs action: ${status.detail}` };
  }
  if (!silence || isRunning) return undefined;
  const says = `the terminal did not answer: ${silence.message}`;
  return { code: unavailableCodes[silence.reason], says };
}

function changedReason(check: IdentityCheck): NotReadyReason | undefined {
  try {
    if (!check.replaced) return undefined;
  } catch {
    return { code: "STORAGE_FAILED", says: "the journal cannot be read: check the data folder" };
  }
  return { code: "TERMINAL_CHANGED", says: "another terminal is connected than before" };
}

function gapReason(gap: ArbiterParts["guard"]["open"]): NotReadyReason | undefined {
  const says = `${gap?.because}: the supervisor does not answer which orders it knows`;
  return gap && { code: "STORES_DISAGREE", says };
}

/**
 * Returns a new object with only the given members of `whole`, so that no cast leads from the new
 * object to the other members of `whole` (docs/architecture.md 2.2).
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
