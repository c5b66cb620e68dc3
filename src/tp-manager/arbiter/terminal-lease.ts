import { AppError, type Charged, type ErrorCode } from "../../shared/catalog/errors.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import { failureOf } from "../attempts/failures.ts";
import type { HeldTerminal } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import type { Inquiries } from "./inquiries.ts";
import type { PaymentRun } from "./payment-run.ts";

/** A lease: the exclusive use of the terminal for one piece of work. */
interface Lease {
  readonly what: "payment" | "reversal" | "reset" | "end of day";
  /** The order that the work is about; undefined for a reset and for an end of day. */
  readonly orderId: string | undefined;
  /** Aborts the preparation of the work. The reason of the abort is the error of the work. */
  readonly preparing: AbortController;
  /** The payment on the wire; undefined for other work, and before the write-ahead record. */
  run: PaymentRun | undefined;
  readonly ended: Promise<unknown>;
}

/** A terminal whose protocol has the command `Needs`. */
export type Held<Needs extends keyof HeldTerminal> = HeldTerminal &
  Required<Pick<HeldTerminal, Needs>>;

interface Work<Needs extends keyof HeldTerminal, Ready, Result> {
  readonly needs: Needs;
  /** Makes the terminal ready for the work. Sends no financial command. */
  prepare(preparing: AbortController): Promise<Ready>;
  /**
   * Does the work. Called synchronously after the last check, so that nothing can change between
   * the check and the command; the work must send its command without waiting first.
   */
  run(terminal: Held<Needs>, ready: Ready, lease: Lease): Promise<Result>;
  /** Returns the result of work that was refused; without this member, `use` rejects with `why`. */
  refused?(why: AppError): Result;
}

/**
 * Gives the terminal to one piece of work at a time, and only if no attempt is in doubt before and
 * after the preparation of the work (docs/rules/05-evidence.md). No command is sent without a
 * lease. A lease lasts until its work has ended on the wire, even if no caller waits for it.
 */
export class TerminalLease {
  readonly #terminal: HeldTerminal;
  readonly #inquiries: Inquiries;
  readonly #parts: ArbiterParts;
  #begun = 0;
  #current: Lease | undefined;
  readonly #stopping = new AbortController();

  constructor(parts: ArbiterParts, inquiries: Inquiries) {
    this.#terminal = parts.terminal;
    this.#inquiries = inquiries;
    this.#parts = parts;
  }

  get held(): Lease | undefined {
    return this.#current;
  }

  /** The work that has the terminal. `goodsUntilMs`: until when it waits for a goods decision. */
  get current() {
    if (!this.#current) return undefined;
    const { what, orderId, run } = this.#current;
    return { what, orderId, goodsUntilMs: run?.goodsAwaitedUntilMs, endsAtMs: run?.endsAtMs };
  }

  /** How many times work got the terminal since the start. */
  get begun(): number {
    return this.#begun;
  }

  /** Aborted as soon as all new work is refused, because the connector stops. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Whether a new version is on probation and may not use the terminal (docs/updates.md 4.3). */
  get updating(): boolean {
    return this.#parts.probation?.isOn === true;
  }

  /** Refuses every new use of the terminal from now on with 503 `STOPPING`. */
  close(): void {
    this.#stopping.abort();
  }

  /** Throws STOPPING, UPDATING or TERMINAL_BUSY when the terminal cannot be used now. */
  assertFree(): void {
    const closed = closedBy(this);
    if (closed) throw refusalBy(closed);
    const { what, orderId } = this.#current ?? {};
    if (what === undefined) return;
    throw new AppError("TERMINAL_BUSY", `The terminal is busy with a ${what}.`, {
      details: orderId === undefined ? {} : { orderId },
    });
  }

  /** Throws TERMINAL_IN_DOUBT while the terminal has to be probed (docs/rules/05-evidence.md). */
  assertNothingInDoubt(): void {
    const reason = inquiryReason(this.#inquiries);
    if (reason) throw refusalBy(reason);
  }

  /** Throws STORAGE_FAILED when the record of a new order could not be written to the disk. */
  assertWritable(): void {
    const fault = unwritableBy(this.#parts.proof?.standing);
    if (fault) throw refusalBy(fault);
  }

  /** Returns the error if the protocol lacks the command `needs` (docs/rules/25-one-way.md). */
  lackOf(needs: keyof HeldTerminal): AppError | undefined {
    return isAble(this.#terminal, needs) ? undefined : lackOf(needs);
  }

  /**
   * Gives `work` the terminal, or throws at once: NOT_SUPPORTED, TERMINAL_IN_DOUBT, STOPPING,
   * UPDATING or TERMINAL_BUSY. Resolves with the result when the work has ended.
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
      // Ends the work if the kiosk cancelled after the terminal's last answer in the preparation.
      lease.preparing.signal.throwIfAborted();
      // A result that arrived during the preparation can forbid the command: checked again.
      this.#assertMayDo(lease.what);
    } catch (error) {
      const why = failureOf(error);
      if (why && work.refused) return work.refused(why);
      throw why ?? error;
    }
    return await work.run(terminal, ready, lease);
  }

  /**
   * Throws TERMINAL_IN_DOUBT when the work may not begin. A locked terminal gets its end of day
   * although an attempt is in doubt, because it answers no probe until its end of day has run.
   */
  #assertMayDo(what: Lease["what"]): void {
    if (what === "end of day" && this.#inquiries.isLockedOut) return;
    this.assertNothingInDoubt();
  }

  async whenFree(): Promise<void> {
    while (this.#current) await this.#current.ended.then(undefined, () => undefined);
  }
}
/** A reason why a payment of a new order is refused now. */
export interface NotReadyReason {
  /** The error code that `POST /payment` would answer. */
  readonly code: ErrorCode;
  readonly says: string;
  /** The message of the error answer; if missing, the error code's own message is used. */
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whether the refused order is charged; if missing, the error code's own value is used. */
  readonly charged?: Charged;
}

/** Returns why no work may use the terminal; undefined when work may use it. */
export function closedBy({ stopping, updating }: TerminalLease): NotReadyReason | undefined {
  if (stopping.aborted) return { code: "STOPPING", says: "the connector is being stopped" };
  if (updating) return { code: "UPDATING", says: "a new version is on probation" };
  return undefined;
}

/** Returns why work has to wait until the terminal was probed (docs/rules/05-evidence.md). */
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

/** Returns why no record of a new payment can be written to the disk (docs/design.md 2.1). */
export function unwritableBy(fault: WriteProof["known"]): NotReadyReason | undefined {
  return fault && { code: "STORAGE_FAILED", says: fault.says, charged: "no" };
}

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
