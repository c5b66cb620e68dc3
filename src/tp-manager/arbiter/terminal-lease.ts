import { AppError } from "../../shared/catalog/errors.ts";
import { failureOf } from "../attempts/failures.ts";
import type { HeldTerminal } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import type { Inquiries } from "./inquiries.ts";
import { closedBy, inquiryReason, refusalBy, unwritableBy } from "./not-ready.ts";
import type { PaymentRun } from "./payment-run.ts";

/** The piece of work that has the terminal to itself now. */
interface Lease {
  readonly what: "payment" | "reversal" | "reset" | "end of day";
  /** The order that the work is about; undefined for the terminal's own affairs. */
  readonly orderId: string | undefined;
  /** Ends the preparation, with a reason. */
  readonly preparing: AbortController;
  /** The payment on the wire; undefined before its write-ahead record, and for other work. */
  run: PaymentRun | undefined;
  readonly ended: Promise<unknown>;
}

interface CurrentLease extends Pick<Lease, "what" | "orderId"> {
  /** The terminal has approved the sale and waits so long for the decision about its goods. */
  readonly goodsUntilMs: number | undefined;
}

/** A terminal that can do what a piece of work needs. */
export type Held<Needs extends keyof HeldTerminal> = HeldTerminal &
  Required<Pick<HeldTerminal, Needs>>;

/** One use of the terminal. */
interface Work<Needs extends keyof HeldTerminal, Ready, Result> {
  readonly needs: Needs;
  /** Makes the terminal ready; nothing financial leaves. */
  prepare(preparing: AbortController): Promise<Ready>;
  /**
   * Begins in the moment of the last check, so between the two nothing can arise. The work waits
   * for nothing before its command leaves.
   */
  run(terminal: Held<Needs>, ready: Ready, lease: Lease): Promise<Result>;
  /** Nothing financial has left. Without this, {@link TerminalLease.use} rejects with `why`. */
  refused?(why: AppError): Result;
}

/**
 * The only way to the wire for everything that takes the terminal: one thing at a time, prepared,
 * and with nothing in doubt before and after its preparation (docs/rules/05-evidence.md). A lease
 * lasts until its work has ended on the wire, even when no caller waits for it any more.
 */
export class TerminalLease {
  readonly #terminal: HeldTerminal;
  readonly #inquiries: Inquiries;
  readonly #facts: ArbiterParts;
  #begun = 0;
  #current: Lease | undefined;
  #closed = false;

  constructor(inquiries: Inquiries, facts: ArbiterParts) {
    this.#terminal = facts.terminal;
    this.#inquiries = inquiries;
    this.#facts = facts;
  }

  /** With the payment itself, for the arbiter alone. */
  get held(): Lease | undefined {
    return this.#current;
  }

  get current(): CurrentLease | undefined {
    if (!this.#current) return undefined;
    const { what, orderId, run } = this.#current;
    return { what, orderId, goodsUntilMs: run?.goodsAwaitedUntilMs };
  }

  /** Turns so far. */
  get begun(): number {
    return this.#begun;
  }

  /** Nothing new gets a lease any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** A new version is on probation (docs/updates.md 4.3). */
  get updating(): boolean {
    return this.#facts.probation?.isOn === true;
  }

  /** From now on nothing new gets a lease: 503 `STOPPING`. */
  close(): void {
    this.#closed = true;
  }

  /** Throws STOPPING, UPDATING or TERMINAL_BUSY. */
  assertFree(): void {
    const closed = closedBy(this);
    if (closed) throw refusalBy(closed);
    const { what, orderId } = this.#current ?? {};
    if (what === undefined) return;
    throw new AppError("TERMINAL_BUSY", `The terminal is busy with a ${what}.`, {
      details: orderId === undefined ? {} : { orderId },
    });
  }

  /** docs/rules/05-evidence.md. Throws TERMINAL_IN_DOUBT. */
  assertNothingInDoubt(): void {
    const reason = inquiryReason(this.#inquiries);
    if (reason) throw refusalBy(reason);
  }

  /** Of an order that is to begin. Throws STORAGE_FAILED. */
  assertWritable(): void {
    const fault = unwritableBy(this.#facts.proof?.standing);
    if (fault) throw refusalBy(fault);
  }

  /** NOT_SUPPORTED where the protocol has nothing of that kind (docs/rules/25-one-way.md). */
  lackOf(needs: keyof HeldTerminal): AppError | undefined {
    return isAble(this.#terminal, needs) ? undefined : lackOf(needs);
  }

  /**
   * Gives `work` the terminal, at once or not at all: throws NOT_SUPPORTED, TERMINAL_IN_DOUBT,
   * STOPPING, UPDATING or TERMINAL_BUSY. Resolves when the lease has ended.
   */
  use<Needs extends keyof HeldTerminal, Ready, Result>(
    what: Lease["what"],
    orderId: string | undefined,
    work: Work<Needs, Ready, Result>,
  ): Promise<Result> {
    const terminal = this.#terminal;
    if (!isAble(terminal, work.needs)) throw lackOf(work.needs);
    this.#assertMayDo(what);
    this.assertFree();
    const { promise: ended, resolve, reject } = Promise.withResolvers<Result>();
    const lease: Lease = { what, orderId, preparing: new AbortController(), run: undefined, ended };
    this.#current = lease;
    this.#begun += 1;
    this.#carryOut(lease, work, terminal)
      .finally(() => {
        this.#current = undefined;
      })
      .then(resolve, reject);
    return ended;
  }

  async #carryOut<Needs extends keyof HeldTerminal, Ready, Result>(
    lease: Lease,
    work: Work<Needs, Ready, Result>,
    terminal: Held<Needs>,
  ): Promise<Result> {
    let ready: Ready;
    try {
      ready = await work.prepare(lease.preparing);
      // A cancel may come between the last answer of the terminal and this line.
      lease.preparing.signal.throwIfAborted();
      // A result that the terminal reported meanwhile would be hidden by the command that follows.
      this.#assertMayDo(lease.what);
    } catch (error) {
      const why = failureOf(error);
      if (why && work.refused) return work.refused(why);
      throw why ?? error;
    }
    return await work.run(terminal, ready, lease);
  }

  /** A lock that only an end of day cures answers no question before. */
  #assertMayDo(what: Lease["what"]): void {
    if (what === "end of day" && this.#inquiries.isLockedOut) return;
    this.assertNothingInDoubt();
  }

  /** Resolves when nothing has the terminal. */
  async whenFree(): Promise<void> {
    while (this.#current) await this.#current.ended.then(undefined, () => undefined);
  }
}

const lacking: Partial<Record<keyof HeldTerminal, string>> = {
  reverse: "This terminal cannot reverse a sale.",
  reset: "This terminal cannot be restarted.",
  telecollect: "This terminal has no end of day.",
  decideGoods: "This terminal cannot wait for goods.",
};

function lackOf(needs: keyof HeldTerminal): AppError {
  return new AppError("NOT_SUPPORTED", lacking[needs]);
}

function isAble<Needs extends keyof HeldTerminal>(
  terminal: HeldTerminal,
  needs: Needs,
): terminal is Held<Needs> {
  return terminal[needs] !== undefined;
}
