import { sleep } from "../../../src/shared/time.ts";
import {
  emptyReport,
  type Recollection,
  type ReversalOrder,
  type TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import type { TestClock } from "../../support/clocks/test-clock.ts";
import { report as saleReport } from "../../support/terminals/reports.ts";
import type { Bank } from "../bank.ts";
import { ModelDevice } from "../model-device.ts";
import type { Behaviour } from "../plan.ts";
import type { ByIdBehaviour } from "./by-id-kinds.ts";

/** What the register gets of a command; "lost": nothing. */
export type Reply =
  | "lost"
  | "busy"
  | "requested"
  | { readonly report: TransactionReport; readonly sale: number | undefined };

export interface Command {
  readonly order: string;
  readonly reference: string;
  readonly amountMinor: number;
  readonly reply: (reply: Reply) => void;
}

type Remembered = "runs" | { readonly report: TransactionReport; readonly isPlain: boolean };

interface ByIdParts {
  readonly clock: TestClock;
  readonly bank: Bank;
  readonly serial: string;
  readonly next: () => Behaviour;
  readonly struck: (fault: string) => void;
}

const REBOOT_MS = 20_000;
const QUESTIONS = 3;
const usual: ByIdBehaviour = { fault: "none", ms: 0 };
const received = { ...emptyReport, good: true, resultCode: "Success" };
const nameOf = (sale: number): string => `sim.S${sale}`;

/** A card terminal that remembers what it answered to each command, with its bank. */
export class ByIdDevice extends ModelDevice {
  readonly #parts: ByIdParts;
  readonly #answers = new Map<string, Remembered>();
  /** Commands whose answer the register still waits for. */
  readonly #open = new Set<Command>();
  #running: { readonly reference: string; readonly wake: AbortController } | undefined;
  #power = 0;
  #unanswered = 0;
  #misanswered = 0;

  constructor(parts: ByIdParts) {
    super(parts.clock, parts.bank, parts.serial, parts.next);
    this.#parts = parts;
  }

  override get busy(): boolean {
    return this.#running !== undefined;
  }

  override use(): void {}

  override breakLine(ms: number): void {
    super.breakLine(ms);
    for (const command of [...this.#open]) this.#reply(command, "lost");
  }

  /** What was charged stands, and its answer is remembered; what still ran is forgotten. */
  override reboot(): void {
    this.#power += 1;
    const { reference } = this.#running ?? {};
    this.#running = undefined;
    if (reference && this.#answers.get(reference) === "runs") this.#answers.delete(reference);
    this.breakLine(REBOOT_MS);
  }

  /** Whether it can say for certain what became of an attempt. */
  canProve(reference: string): boolean {
    const answer = this.#answers.get(reference);
    return answer !== undefined && answer !== "runs" && answer.isPlain;
  }

  takes(command: Command): void {
    const { byId = usual, customerMs } = this.#parts.next();
    const { fault, ms } = byId;
    this.#open.add(command);
    if (fault !== "none") this.#parts.struck(`by id: ${fault}`);
    if (this.#running || fault === "busy") {
      this.#reply(command, "busy");
      return;
    }
    if (fault.startsWith("request")) this.#reply(command, "lost");
    if (fault === "request lost") return;
    if (fault === "request late") {
      this.#parts.clock.startTimer("late request", Math.min(ms, 60_000), () => {
        if (!this.#running) void this.#work(command, usual, customerMs);
      });
      return;
    }
    if (fault === "leaves questions unanswered") this.#unanswered = QUESTIONS;
    if (fault === "answers another question") this.#misanswered = 1;
    void this.#work(command, byId, customerMs);
    if (fault === "line lost in the payment") this.breakLine(ms);
  }

  abort(reference: string): void {
    if (this.#running?.reference === reference) this.#running.wake.abort();
  }

  takesBack({ receiptNumber, amountMinor }: ReversalOrder, command: Command): void {
    const { byId = usual } = this.#parts.next();
    this.#open.add(command);
    if (byId.fault === "request lost" || byId.fault === "busy") {
      this.#reply(command, byId.fault === "busy" ? "busy" : "lost");
      return;
    }
    const { bank, clock } = this.#parts;
    const charge = bank.movements.find(
      ({ kind, sale }) => kind === "charge" && nameOf(sale) === receiptNumber,
    );
    if (charge && bank.balanceOfSale(charge.sale) === amountMinor) {
      const atMs = clock.monotonicMs();
      bank.enter({ ...charge, kind: "reversal", amountMinor, atMs, asked: true });
    }
    this.#answers.set(command.reference, { report: received, isPlain: false });
    this.#reply(command, byId.fault.startsWith("answer lost") ? "lost" : "requested");
  }

  recall(reference: string): Recollection | "silent" {
    if (this.#unanswered > 0) {
      this.#unanswered -= 1;
      return "silent";
    }
    const answer = this.#answers.get(reference);
    if (answer === "runs") return { kind: "running" };
    if (!answer) return { kind: "not-found" };
    if (this.#misanswered > 0) {
      this.#misanswered -= 1;
      return { kind: "not-told", why: "it repeated the answer to another request" };
    }
    return { kind: "answered", report: answer.report };
  }

  async #work(command: Command, { fault, ms }: ByIdBehaviour, customerMs: number): Promise<void> {
    const { reference } = command;
    const power = this.#power;
    const wake = new AbortController();
    this.#running = { reference, wake };
    this.#answers.set(reference, "runs");
    await sleep(this.#parts.clock, "by-id terminal", customerMs, wake.signal).catch(() => {});
    if (power !== this.#power) return;
    this.#running = undefined;
    const made = this.#made(command, fault, wake.signal.aborted);
    if (fault === "forgets the answer") this.#answers.delete(reference);
    else this.#answers.set(reference, made);
    if (fault === "answer lost, and the line is down") this.breakLine(ms);
    if (fault === "never answers") return;
    const isLost = fault === "answer lost" || fault === "forgets the answer";
    this.#reply(command, isLost ? "lost" : { report: made.report, sale: undefined });
  }

  #made({ order, amountMinor }: Command, fault: ByIdBehaviour["fault"], isAborted: boolean) {
    if (isAborted) return { report: failed("Aborted", "cancelled"), isPlain: true };
    if (fault === "declined") return { report: failed("Refusal", "declined"), isPlain: true };
    if (fault === "customer goes") {
      return { report: failed("Cancel", "customer-timeout"), isPlain: true };
    }
    const { bank, clock } = this.#parts;
    const atMs = clock.monotonicMs();
    const sale = bank.begin(atMs);
    const minor = amountMinor + (fault === "another amount" ? 1 : 0);
    bank.enter({ kind: "charge", sale, order, amountMinor: minor, atMs, asked: false });
    if (fault === "approved and cancelled") {
      return { report: { ...failed("Cancel", "cancelled"), resultCode: null }, isPlain: false };
    }
    const named = { receiptNumber: nameOf(sale), namedAt: "2026-01-15T12:00:00Z" };
    const names = { ...named, traceNumber: null, terminalId: null };
    const report = saleReport({ ...names, amountMinor: minor, resultCode: "Success" });
    return { report, isPlain: fault !== "another amount" };
  }

  #reply(command: Command, reply: Reply): void {
    if (!this.#open.delete(command)) return;
    command.reply(reply);
  }
}

const failed = (resultCode: string, reason: TransactionReport["reason"]): TransactionReport => ({
  ...emptyReport,
  resultCode,
  resultText: resultCode,
  reason,
});
