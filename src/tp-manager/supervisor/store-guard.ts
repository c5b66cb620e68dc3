import { AppError } from "../../shared/catalog/errors.ts";
import { BrokenInvariant } from "../../shared/invariant.ts";
import { IpcError } from "../../shared/ipc/client.ts";
import { STORE_PAGE_MAX, type SupervisorAnswer } from "../../shared/ipc/contract.ts";
import { formatMajor } from "../../shared/money.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { Retrying } from "../../shared/process/retrying.ts";
import { readOr } from "../../shared/read-or.ts";
import { type Clock, type Timer, unlessAborted } from "../../shared/time.ts";
import { type Stored, sameTerminal } from "../attempts/comparison.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, currencyNumericOf, type PaymentRequest } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import { IMPORTED } from "../attempts/rebuilt-attempt.ts";
import type { GapRows, JournalGap } from "../journal/gap-rows.ts";
import type { Journal } from "../journal/journal.ts";
import type { Matcher } from "../matching/matcher.ts";
import type {
  Baseline,
  LastTransaction,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const RETRY_MIN_MS = 500;
/** How often the running time is written during a gap; a killed process loses the time since. */
const RAN_MS = 600_000;

interface GuardParts {
  readonly journal: Journal;
  readonly matcher: Matcher;
  readonly link: SupervisorLink;
  readonly clock: Clock;
  readonly log: AlarmLog;
  /** The setting TERMINAL_SHARED: if another till sells too, an unknown sale proves no loss. */
  readonly isShared: boolean;
  /** Called when the supervisor's database may lack data too, which only a resync can repair. */
  readonly onSupervisorLacks: () => void;
}

/**
 * Prevents a journal that was lost or restored (docs/rules/17-loss.md) from charging an order again
 * (docs/rules/34-journal-gap.md). The supervisor's orders are imported. Until a day and an end of
 * day have passed, a new order id is looked up first, and a request that equals an unmatched sale
 * of the terminal is refused until a person has decided.
 */
export class StoreGuard {
  readonly #parts: GuardParts;
  readonly #gaps: GapRows;
  /** The terminal whose last transaction was known to the journal since the program started. */
  #agreedWith: TerminalIdentity | undefined;
  readonly #task: Retrying;
  /** Whether the supervisor has answered the last request of the import. */
  #isAnswered = false;
  #timer: Timer | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(parts: GuardParts) {
    this.#parts = parts;
    this.#gaps = parts.journal.gaps;
    this.#task = new Retrying(parts.clock, "import", () => this.#importOrders(), RETRY_MIN_MS);
  }

  /** Continues the work of an earlier process on a gap. `isNew`: this start has found the gap. */
  start(isNew: boolean): void {
    let because = "journal.db may lack payments, and cannot be read";
    try {
      const gap = this.#gaps.open();
      if (!gap) return;
      because = gap.because;
    } catch {
      // The import reads the journal again and again until it can.
    }
    if (isNew) this.#alarm(because);
    this.#task.nudgeIn(0);
    this.#count();
  }

  /** Measures for how long this program runs while a gap is open (docs/rules/34-journal-gap.md). */
  #count(): void {
    const { clock, log } = this.#parts;
    this.#timer?.clear();
    this.#timer = clock.startTimer("age of the gap", RAN_MS, () => {
      try {
        this.#gaps.ran(RAN_MS);
        if (!this.#gaps.open()) return;
      } catch (error) {
        log.warn({ err: error }, "could not note in the journal how long its gap has lasted");
      }
      this.#count();
    });
  }

  /** Opens a journal gap, on disk when this returns. `both`: the supervisor can lack orders too. */
  begin(because: string, both = false): void {
    const { clock } = this.#parts;
    this.#gaps.begin(`journal.db: ${because}`, both, clock.now());
    this.start(true);
  }

  /** The open gap; undefined if the journal is whole or cannot be read (others report that). */
  get open(): JournalGap | undefined {
    return readOr(undefined, () => this.#gaps.open());
  }

  /** The gap during which no new order can be looked up: the supervisor answers no import. */
  get unanswered(): JournalGap | undefined {
    const gap = this.#isAnswered ? undefined : this.open;
    return gap?.isImported === false ? gap : undefined;
  }

  /**
   * Resolves when all orders of the supervisor are imported; no attempt in doubt is judged before.
   * Returns undefined when the journal is whole or all orders are imported.
   */
  whole(signal: AbortSignal): Promise<void> | undefined {
    return this.#mustImport() ? this.#imported(signal) : undefined;
  }

  async #imported(signal: AbortSignal): Promise<void> {
    do await unlessAborted(this.#wake.promise, signal);
    while (this.#mustImport());
  }

  /** Whether an import is needed. If the journal cannot be read, the import waits until it can. */
  #mustImport(): boolean {
    try {
      return this.#gaps.open()?.isImported === false;
    } catch {
      this.#task.nudgeIn(RETRY_MIN_MS);
      return true;
    }
  }

  /**
   * Looks up a new order id before its order is paid or answered as unknown. A found order is in
   * the journal afterwards. Rejects with STORES_DISAGREE when neither the supervisor nor the
   * gateway answers. Returns undefined when the journal has no gap or knows the order.
   */
  find(orderId: string): Promise<void> | undefined {
    const { attempts } = this.#parts.journal;
    const gap = storage(() => this.#gaps.open(), "unknown");
    if (!gap) return undefined;
    const known = storage(() => attempts.decisive(orderId), "unknown");
    return known && chargedOf(known) !== "no" ? undefined : this.#find(orderId, gap);
  }

  async #find(orderId: string, gap: JournalGap): Promise<void> {
    const { clock } = this.#parts;
    const { orders, whole } = await this.#ask(orderId);
    if (orders.length > 0) {
      storage(() => this.#gaps.importOrders(orders, null, clock.now()), "unknown");
      return;
    }
    if (!whole || gap.both) await this.#askGateway(orderId);
  }

  /** Whether after a loss the journal may lack an order's later attempt. Throws STORAGE_FAILED. */
  mayLackNewer(transactionId: string): boolean {
    return storage(
      () => this.#gaps.open() !== undefined && this.#gaps.concerns(transactionId),
      "unknown",
    );
  }

  /**
   * Throws STORES_DISAGREE when the money of an order from before the loss may have been paid back
   * already. The supervisor knows what the gateway paid back, unless its database lacks data too;
   * only the lost journal knew what the terminal paid back. `attempt`: undefined for an unknown
   * order. `returnedBy`: "gateway" for an order that was not paid at our terminal.
   */
  assertNotReturned(attempt: Attempt | undefined, returnedBy: "gateway" | "anybody"): void {
    const { resync } = this.#parts.journal;
    const isUnsure = storage(() => {
      const gap = this.#gaps.open();
      if (!gap || (attempt && !this.#isFromBefore(attempt))) return false;
      // The resync is under way as long as the supervisor's database is known to lack data.
      const isKnown = gap.isImported && !gap.both && !resync.isUnderWay;
      return returnedBy === "anybody" || !isKnown;
    }, "unknown");
    if (!isUnsure) return;
    const text =
      "Whether the money went back already is not known: the journal was lost or restored.";
    throw new AppError("STORES_DISAGREE", text, attempt && { charged: chargedOf(attempt) });
  }

  #isFromBefore({ transactionId, request }: Attempt): boolean {
    return request.warnings.includes(IMPORTED) || this.#gaps.concerns(transactionId);
  }

  /** Returns `charged` of orders not in the journal; "unknown" in a gap. Throws STORAGE_FAILED. */
  chargedOfUnknown(): "no" | "unknown" {
    return storage(() => this.#gaps.open(), "unknown") ? "unknown" : "no";
  }

  /**
   * Throws TERMINAL_SALE_UNMATCHED or STORES_DISAGREE when an unmatched sale of the terminal may be
   * this order, which the lost journal had as charged. This is the last check before a sale.
   */
  assertNoSaleMatches({ amountMinor, currency }: PaymentRequest, baseline: Baseline): void {
    const isSign = this.noteSale(baseline);
    const sale = this.#gaps
      .open()
      ?.ofNoOrder.find(
        (one) => one.amountMinor === amountMinor && currencyNumericOf(one) === currency.numeric,
      );
    if (sale) {
      throw new AppError("TERMINAL_SALE_UNMATCHED", undefined, {
        details: { receiptNumber: sale.receiptNumber, amountMinor, sale: textOfSale(sale) },
      });
    }
    // This check has just opened the gap, so no other program was asked for the order id yet.
    if (isSign) throw new AppError("STORES_DISAGREE");
  }

  /**
   * Stores an unmatched sale of the terminal. Returns whether the sale proves that the journal lost
   * data, which opens a gap. A journal is only restored while no program runs, so after the first
   * known sale of this run no sale is such a proof.
   */
  noteSale(baseline: Stored): boolean {
    const { isShared } = this.#parts;
    const sale = storage(() => this.#unknownSale(baseline), "unknown");
    // A record without a result may not be a sale, so it proves no loss of data.
    const good = sale?.good === true ? sale : undefined;
    const sign = this.#gaps.open() ? undefined : (good ?? this.#reversalOfLost(baseline.last));
    const isWhole = this.#agreedWith && sameTerminal(this.#agreedWith, baseline.identity);
    if (baseline.last.kind !== "not-told" && !sale && !sign) this.#agreedWith = baseline.identity;
    const isSign = sign !== undefined;
    if (isSign && (isWhole || isShared || !this.#isOurTerminal(baseline))) {
      this.#agreedWith = baseline.identity;
      return false;
    }
    if (isSign) {
      const what = sign === good ? "last sale" : "last reversal, of a later sale,";
      this.begin(`the terminal's ${what} is known to nobody here (${textOfSale(sign)})`, true);
    }
    const kept = sale ?? sign;
    if (kept) storage(() => this.#gaps.addOfNoOrder(kept), "unknown");
    return isSign;
  }

  /** Stores the terminal's last sale if it is unmatched, before an end of day deletes it there. */
  keepLast(now: Stored): void {
    const sale = this.#unknownSale(now);
    if (sale) this.#gaps.addOfNoOrder(sale);
  }

  /** Closes the journal gap by an operator's decision. Returns false when no gap was open. */
  accept(): boolean {
    const { clock, log, onSupervisorLacks } = this.#parts;
    // Before the import it is not known whether the supervisor lacks data too, so a resync begins.
    if (this.#gaps.open()?.isImported === false) onSupervisorLacks();
    const ended = this.#gaps.end("operator", clock.now());
    this.#timer?.clear();
    if (ended) log.warn("an operator declared the gap in the journal closed");
    this.#wakeAll();
    return ended;
  }

  close(): Promise<void> {
    this.#timer?.clear();
    return this.#task.close();
  }

  async #importOrders(): Promise<number | undefined> {
    const { link, onSupervisorLacks, clock, log } = this.#parts;
    try {
      for (let gap = this.#gaps.open(); gap?.isImported === false; gap = this.#gaps.open()) {
        if (this.#task.isClosed) return undefined;
        const after = this.#gaps.importedTo();
        const page = await link.call("known-orders", { after, limit: STORE_PAGE_MAX });
        const { orders, last, more, whole } = page;
        // The loss is reported before the last page counts as imported, so that no crash hides it.
        if (!whole && !more) onSupervisorLacks();
        // If the answer has reported a further loss, the page is requested again: then the
        // supervisor learns that this loss is known here.
        const isSame = this.#gaps.open()?.because === gap.because;
        this.#gaps.importOrders(orders, isSame ? { to: last, done: !more } : null, clock.now());
        log.info({ orders: orders.length, more }, "orders were imported from the supervisor");
        this.#task.succeeded();
        this.#isAnswered = true;
      }
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      if (error instanceof IpcError) this.#isAnswered = false;
      log.warn({ err: error }, "orders could not be imported from the supervisor yet");
      return this.#task.failed();
    }
    // If a further loss is found, the next import begins with the shortest pause again.
    this.#task.succeeded();
    this.#wakeAll();
    return undefined;
  }

  #wakeAll(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }

  async #ask(orderId: string): Promise<SupervisorAnswer<"known-orders">> {
    try {
      const request = { orderId, after: 0, limit: STORE_PAGE_MAX };
      return await this.#parts.link.call("known-orders", request);
    } catch (error) {
      if (!(error instanceof IpcError)) throw error;
      const text = `The journal was lost or restored, and the supervisor: ${error.message}`;
      throw new AppError("STORES_DISAGREE", text, { cause: error });
    }
  }

  /** Throws unless the gateway answers that it has no such order. */
  async #askGateway(orderId: string): Promise<void> {
    const { found, why } = await this.#parts.link
      .call("order-at-gateway", { orderId })
      .catch((error: unknown) => {
        if (error instanceof IpcError) return { found: "untold", why: error.message } as const;
        throw error;
      });
    if (found === "absent") return;
    throw new AppError("STORES_DISAGREE", `Both databases were lost or restored, and ${why}.`);
  }

  /** Returns the stored sale that the journal lacks, or a record without a result: it may stand. */
  #unknownSale({ last, identity }: Stored): TransactionReport | undefined {
    if (last.kind !== "transaction") return undefined;
    const { report } = last;
    const mayStand = report.good || report.resultCode === null;
    const { matcher } = this.#parts;
    if (!mayStand || report.originalTrace !== null || this.#gaps.knowsReport(report))
      return undefined;
    return matcher.explains(report, identity) ? undefined : report;
  }

  /** Returns the terminal's stored reversal if it proves that the journal lost its sale. */
  #reversalOfLost(last: LastTransaction): TransactionReport | undefined {
    if (last.kind !== "transaction" || last.report.originalTrace === null) return undefined;
    const isSign = storage(() => this.#gaps.tookBackLater(last.report), "unknown");
    return isSign ? last.report : undefined;
  }

  /** Whether the newest attempt was made at this terminal, so that its next sale must be ours. */
  #isOurTerminal({ identity }: Stored): boolean {
    const [newest] = this.#parts.journal.records.sent();
    const known = newest?.baseline?.identity;
    return known !== undefined && sameTerminal(known, identity);
  }

  #alarm(because: string): void {
    const text =
      `${because}; orders are looked up at the supervisor or the gateway before they are paid, ` +
      "until a day and an end of day have passed, or ./launch.sh stores accept";
    this.#parts.log.error({ alarm: "journal-lost" }, text);
  }
}

export function textOfSale({ receiptNumber, amountMinor, receipt }: TransactionReport): string {
  const exponent = Number(receipt.currencyFractionPart || 2);
  const amount = amountMinor === null ? "of an unknown amount" : formatMajor(amountMinor, exponent);
  return `receipt ${receiptNumber ?? "unknown"}, ${amount}`;
}
