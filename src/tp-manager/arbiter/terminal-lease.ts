import { AppError, type Charged, type ErrorCode } from "../../shared/catalog/errors.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import { failureOf } from "../attempts/failures.ts";
import type { HeldTerminal } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import type { Inquiries } from "./inquiries.ts";
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

  /** The lease with the payment itself, for the arbiter alone. */
  get held(): Lease | undefined {
    return this.#current;
  }

  /** `goodsUntilMs`: until then the terminal waits for the decision about an approved sale. */
  get current() {
    if (!this.#current) return undefined;
    const { what, orderId, run } = this.#current;
    return { what, orderId, goodsUntilMs: run?.goodsAwaitedUntilMs };
  }

  /** The number of leases so far. */
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

  /** Gives nothing new a lease from now on: 503 `STOPPING`. */
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

  /** Throws TERMINAL_IN_DOUBT (docs/rules/05-evidence.md). */
  assertNothingInDoubt(): void {
    const reason = inquiryReason(this.#inquiries);
    if (reason) throw refusalBy(reason);
  }

  /** For an order that is to begin. Throws STORAGE_FAILED. */
  assertWritable(): void {
    const fault = unwritableBy(this.#facts.proof?.standing);
    if (fault) throw refusalBy(fault);
  }

  /** The error where the protocol has nothing of that kind (docs/rules/25-one-way.md). */
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

  /** A terminal that only an end of day unlocks answers no question before. Throws as above. */
  #assertMayDo(what: Lease["what"]): void {
    if (what === "end of day" && this.#inquiries.isLockedOut) return;
    this.assertNothingInDoubt();
  }

  /** Resolves when nothing has the terminal. */
  async whenFree(): Promise<void> {
    while (this.#current) await this.#current.ended.then(undefined, () => undefined);
  }
}
/** A reason for which a payment of a new order is refused now. */
export interface NotReadyReason {
  /** The code that `POST /payment` would answer. */
  readonly code: ErrorCode;
  /** For an operator. */
  readonly says: string;
  /** The payment's answer; left out: the code's own message. */
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Of an order that is to begin; left out: as the code says. */
  readonly charged?: Charged;
}

/** Why nothing gets a lease. */
export function closedBy(
  lease: Pick<TerminalLease, "closed" | "updating">,
): NotReadyReason | undefined {
  if (lease.closed) return { code: "STOPPING", says: "the connector is being stopped" };
  if (lease.updating) return { code: "UPDATING", says: "a new version is on probation" };
  return undefined;
}

/** Why the terminal has to be asked about something first (docs/rules/05-evidence.md). */
export function inquiryReason({
  blockedBy,
  unmatchedAsked,
}: Inquiries): NotReadyReason | undefined {
  const code = "TERMINAL_IN_DOUBT";
  if (blockedBy !== undefined) {
    const says = `order ${blockedBy} is in doubt and asked about`;
    return { code, says, details: { orderId: blockedBy } };
  }
  if (!unmatchedAsked) return undefined;
  const message = "The terminal has an unmatched transaction; it is being asked.";
  return { code, says: "the terminal has an unmatched transaction and is asked", message };
}

/** Why nothing that happens to money could be written down (docs/design.md 1.3). */
export function unwritableBy(fault: WriteProof["known"]): NotReadyReason | undefined {
  return fault && { code: "STORAGE_FAILED", says: fault.says, charged: "no" };
}

/** The answer of a payment that a reason refuses. */
function refusalBy({ code, message, details, charged }: NotReadyReason): AppError {
  return new AppError(code, message, { details, ...(charged && { charged }) });
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
