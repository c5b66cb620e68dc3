import { AppError } from "../../shared/catalog/errors.ts";
import { IpcError } from "../../shared/ipc/client.ts";
import { STORE_PAGE_MAX } from "../../shared/ipc/contract.ts";
import { formatMajor } from "../../shared/money.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { type Clock, type Timer, unlessAborted } from "../../shared/time.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, currencyNumericOf, type PaymentRequest } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import { IMPORTED } from "../attempts/rebuilt-attempt.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { GapRows, JournalGap } from "../journal/gap-rows.ts";
import type { AgainRows } from "../journal/hand-offs/again-rows.ts";
import type { RecordRows } from "../journal/record-rows.ts";
import { sameTerminal } from "../matching/comparison.ts";
import type { Matcher } from "../matching/matcher.ts";
import type {
  Baseline,
  LastTransaction,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";
import { Retrying } from "./retrying.ts";
import type { SupervisorAnswer, SupervisorLink } from "./supervisor-link.ts";

const RETRY_MIN_MS = 500;
/** How often the age of a gap is written; a process that is killed loses the rest. */
const RAN_MS = 600_000;

interface GuardParts {
  readonly gaps: GapRows;
  readonly attempts: Pick<AttemptRows, "latest">;
  readonly records: Pick<RecordRows, "sent">;
  /** Under way as long as the supervisor's database is known to lack something. */
  readonly again: Pick<AgainRows, "isUnderWay">;
  readonly matcher: Pick<Matcher, "explains">;
  readonly link: SupervisorLink;
  readonly clock: Clock;
  readonly log: Logger;
  /** TERMINAL_SHARED: others are paid at the terminal too, so an unknown sale is no sign. */
  readonly isShared: boolean;
  /** The supervisor's database was lost too, or may be: only this journal can end that. */
  readonly onSupervisorLacks: () => void;
}

/**
 * Keeps a journal that was lost or restored from charging an order again (docs/rules/17-loss.md).
 * The orders that the supervisor knows are imported; until a day and an end of day have passed,
 * an order id that is new here is looked up first, and a request that fits a sale of the terminal
 * that nobody knows waits for a person.
 */
export class StoreGuard {
  readonly #parts: GuardParts;
  /** The terminal that has shown a known record since the program was started. */
  #agreedWith: TerminalIdentity | undefined;
  readonly #taking: Retrying;
  #timer: Timer | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(parts: GuardParts) {
    this.#parts = parts;
    this.#taking = new Retrying(parts.clock, "take over", () => this.#takeOver(), RETRY_MIN_MS);
  }

  /** Goes on where a former process stopped; `isNew`: the gap was found at this start. */
  start(isNew: boolean): void {
    const doubt = this.open;
    if (!doubt) return;
    if (isNew) this.#alarm(doubt);
    this.#taking.nudgeIn(0);
    this.#count();
  }

  /** Only time in which this program runs makes a gap older (docs/rules/17-loss.md). */
  #count(): void {
    const { clock, gaps, log } = this.#parts;
    this.#timer?.clear();
    this.#timer = clock.startTimer("time of a doubt", RAN_MS, () => {
      try {
        gaps.ran(RAN_MS);
      } catch (error) {
        log.warn({ err: error }, "the journal did not take how long its doubt has lasted");
      }
      if (this.open) this.#count();
    });
  }

  /** The journal lacks something. On disk when it returns; `both`: so may the supervisor. */
  doubt(because: string, both = false): void {
    const { gaps, clock } = this.#parts;
    gaps.begin(`journal.db: ${because}`, both, clock.now());
    this.start(true);
  }

  /** undefined: the journal is whole, or cannot be read, which is reported elsewhere. */
  get open(): JournalGap | undefined {
    try {
      return this.#opened();
    } catch {
      return undefined;
    }
  }

  #opened(): JournalGap | undefined {
    return this.#parts.gaps.open();
  }

  /**
   * Resolves when what the supervisor knows is here; before, no doubt about an order is judged.
   * undefined: it is.
   */
  whole(signal: AbortSignal): Promise<void> | undefined {
    const doubt = this.open;
    return doubt && !doubt.isImported ? this.#takenOver(signal) : undefined;
  }

  async #takenOver(signal: AbortSignal): Promise<void> {
    for (let doubt = this.open; doubt && !doubt.isImported; doubt = this.open) {
      await unlessAborted(this.#wake.promise, signal);
    }
  }

  /**
   * Looks an id up that is new here, before its order is paid or answered as unknown. A find is
   * in the journal afterwards. Rejects with STORES_DISAGREE when nothing can be found out.
   * undefined: the journal has no gap, and nothing is waited for.
   */
  find(orderId: string): Promise<void> | undefined {
    const { attempts } = this.#parts;
    const doubt = storage(() => this.#opened(), "unknown");
    if (!doubt) return undefined;
    const known = storage(() => attempts.latest(orderId), "unknown");
    return known && chargedOf(known) !== "no" ? undefined : this.#find(orderId, doubt);
  }

  async #find(orderId: string, doubt: JournalGap): Promise<void> {
    const { gaps, clock } = this.#parts;
    const { orders, whole } = await this.#ask(orderId);
    if (orders.length > 0) {
      storage(() => gaps.importOrders(orders, null, clock.now()), "unknown");
      return;
    }
    if (!whole || doubt.both) await this.#askGateway(orderId);
  }

  /** A later charge of this attempt may be missing because the journal was lost. */
  mayLackNewer(transactionId: string): boolean {
    return this.open !== undefined && this.#parts.gaps.concerns(transactionId);
  }

  /**
   * The last check before money goes back. The money of an order from before the loss may have gone
   * back already. The supervisor knows what the gateway gave back, unless its database lacks
   * something too; only the lost journal knew what the terminal gave back. `attempt`: undefined for
   * an order that is not here. Throws STORES_DISAGREE.
   */
  assertNotReturned(attempt: Attempt | undefined, byWhom: "gateway" | "anybody"): void {
    const { again } = this.#parts;
    const isUnsure = storage(() => {
      const doubt = this.#opened();
      if (!doubt || (attempt && !this.#isFromBefore(attempt))) return false;
      const isKnown = doubt.isImported && !doubt.both && !again.isUnderWay;
      return byWhom === "anybody" || !isKnown;
    }, "unknown");
    if (!isUnsure) return;
    const text =
      "Whether the money went back already is not known: the journal was lost or restored.";
    throw new AppError("STORES_DISAGREE", text, attempt && { charged: chargedOf(attempt) });
  }

  #isFromBefore({ transactionId, request }: Attempt): boolean {
    return request.warnings.includes(IMPORTED) || this.#parts.gaps.concerns(transactionId);
  }

  /** `charged` of an order that is not found: it may be one of those that were lost. */
  get ofUnknown(): "no" | "unknown" {
    return this.open ? "unknown" : "no";
  }

  /**
   * The last check before a sale: a sale of the terminal that no order here has may be this one, of
   * a former journal. Throws STORES_DISAGREE or TERMINAL_SALE_UNMATCHED; nothing has left then.
   */
  assertNoSaleMatches({ amountMinor, currency }: PaymentRequest, baseline: Baseline): void {
    const isSign = this.noteSale(baseline);
    const sale = this.#opened()?.ofNoOrder.find(
      (one) => one.amountMinor === amountMinor && currencyNumericOf(one) === currency.numeric,
    );
    if (sale) {
      throw new AppError("TERMINAL_SALE_UNMATCHED", undefined, {
        details: { receiptNumber: sale.receiptNumber, amountMinor, sale: textOfSale(sale) },
      });
    }
    // The order id has not been looked up yet.
    if (isSign) throw new AppError("STORES_DISAGREE");
  }

  /**
   * Keeps a sale of the terminal that no order here has. Returns true if the sale proves that the
   * journal lost data; the doubt has begun then. A journal is put back while no program runs, so
   * only what the terminal shows before it has shown something known is a sign.
   */
  noteSale(baseline: Baseline): boolean {
    const { gaps, isShared } = this.#parts;
    const sale = storage(() => this.#unknownSale(baseline), "unknown");
    // Of a record without a result nobody knows whether it is a sale: alone it says nothing.
    const good = sale?.good === true ? sale : undefined;
    const sign = this.#opened() ? undefined : (good ?? this.#takenBack(baseline.last));
    const isWhole = this.#agreedWith && sameTerminal(this.#agreedWith, baseline.identity);
    if (baseline.last.kind !== "not-told" && !sale && !sign) this.#agreedWith = baseline.identity;
    const isSign = sign !== undefined;
    if (isSign && (isWhole || isShared || !this.#isOurTerminal(baseline))) {
      this.#agreedWith = baseline.identity;
      return false;
    }
    if (isSign) {
      const what = sign === good ? "last sale" : "last reversal, of a later sale,";
      this.doubt(`the terminal's ${what} is known to nobody here (${textOfSale(sign)})`, true);
    }
    const kept = sale ?? sign;
    if (kept) storage(() => gaps.addOfNoOrder(kept), "unknown");
    return isSign;
  }

  /**
   * Before an end of day, and while the journal is in doubt: a last sale of the terminal that no
   * order here has is kept, because it is nowhere afterwards.
   */
  keepLast(now: Pick<Baseline, "last" | "identity">): void {
    const sale = this.#unknownSale(now);
    if (sale) this.#parts.gaps.addOfNoOrder(sale);
  }

  /** An operator's word. false: there was nothing to end. */
  accept(): boolean {
    const { gaps, clock, log, onSupervisorLacks } = this.#parts;
    // The supervisor has not answered whether it lacks something: nobody would end that any more.
    if (this.open?.isImported === false) onSupervisorLacks();
    const ended = gaps.end("operator", clock.now());
    this.#timer?.clear();
    if (ended) log.warn("the gap of the journal is closed by an operator");
    this.#woken();
    return ended;
  }

  close(): Promise<void> {
    this.#timer?.clear();
    return this.#taking.close();
  }

  async #takeOver(): Promise<number | undefined> {
    const { gaps, link, onSupervisorLacks, clock, log } = this.#parts;
    for (let doubt = this.open; doubt && !doubt.isImported; doubt = this.open) {
      if (this.#taking.isClosed) return undefined;
      try {
        const after = gaps.importedTo();
        const page = await link.call("known-orders", { after, limit: STORE_PAGE_MAX });
        const { orders, last, more, whole } = page;
        // Before the last page counts as taken, so that no crash forgets it.
        if (!whole && !more) onSupervisorLacks();
        // The answer itself may have shown that more is missing. One question more then, which also
        // says to the supervisor that its memory was judged: no later start does that again.
        const isSame = this.open?.because === doubt.because;
        gaps.importOrders(orders, isSame ? { to: last, done: !more } : null, clock.now());
        log.info({ orders: orders.length, more }, "orders imported from the supervisor");
        this.#taking.succeeded();
      } catch (error) {
        log.warn({ err: error }, "the supervisor's orders could not be imported yet");
        return this.#taking.failed();
      }
    }
    // The next loss is asked about without the pauses of this one.
    this.#taking.succeeded();
    this.#woken();
    return undefined;
  }

  #woken(): void {
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

  /** Both databases were lost, or may have been: only the gateway may know the order. */
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

  /**
   * A sale that the terminal has stored and the journal does not know. One without a result may
   * stand: nobody has heard that it does not.
   */
  #unknownSale({
    last,
    identity,
  }: Pick<Baseline, "last" | "identity">): TransactionReport | undefined {
    if (last.kind !== "transaction") return undefined;
    const { report } = last;
    const mayStand = report.good || report.resultCode === null;
    const { gaps, matcher } = this.#parts;
    if (!mayStand || report.originalTrace !== null || gaps.knowsReport(report)) return undefined;
    return matcher.explains(report, identity) ? undefined : report;
  }

  /** A reversal whose sale a whole journal would have. */
  #takenBack(last: LastTransaction): TransactionReport | undefined {
    if (last.kind !== "transaction") return undefined;
    const isSign = storage(() => this.#parts.gaps.tookBackLater(last.report), "unknown");
    return isSign ? last.report : undefined;
  }

  /** The newest attempt was made at this terminal: what it stores next should be known here. */
  #isOurTerminal({ identity }: Baseline): boolean {
    const [newest] = this.#parts.records.sent();
    const known = newest?.baseline?.identity;
    return known !== undefined && sameTerminal(known, identity);
  }

  #alarm({ because }: JournalGap): void {
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
