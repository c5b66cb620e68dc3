import { formatMajor } from "../../src/shared/money.ts";
import type { Transaction } from "../../src/shared/transaction.ts";
import type { TryClass } from "../../src/supervisor/gateway/fault-table.ts";
import type { LookupAnswer } from "../../src/supervisor/gateway/lookup.ts";
import { type Fields, mapiOf, resultOf } from "../supervisor/notifications/mapi.ts";
import type { TestClock } from "../support/clocks/test-clock.ts";
import type { GatewayReturn } from "./plan.ts";

/** One transaction that the gateway has made of an order of ours. */
interface Copy {
  readonly publicId: string;
  readonly transaction: Transaction;
  cancelled: boolean;
  refundedMinor: number;
  /** The notifications of its returns that we have taken. */
  reported: number;
  readonly returnsMs: number[];
  /** A notification has named it to us. */
  named: boolean;
}

type Notified = GatewayReturn["notified"];
type Given = Pick<GatewayReturn, "how" | "amountMinor" | "notified">;

const SOON_MS = 1_500;
const LATE_MS = 7 * 60_000;
const REPEAT_MS = 60_000;
const TRIES_MAX = 30;

/**
 * The orders of the merchant at the gateway with what went back of them, and the notifications
 * about that. One that is not taken is sent again (docs/gateway.md 3.6).
 */
export class MerchantAccount {
  /** What happened, for a person. */
  readonly entries: Array<{ readonly atMs: number; readonly text: string }> = [];
  readonly #copies: Copy[] = [];
  readonly #clock: TestClock;
  /** true: taken. */
  readonly #deliver: (document: string) => boolean;
  readonly #waiting: Array<{ order: string; work: () => void }> = [];
  #untold: Array<() => void> = [];
  #documents = 0;
  #finished = false;

  constructor(clock: TestClock, deliver: (document: string) => boolean) {
    this.#clock = clock;
    this.#deliver = deliver;
  }

  /** The gateway has made a transaction of an order, and names it to us. */
  make(transaction: Transaction): void {
    const publicId = (this.#copies.length + 0xab_cde0).toString(16).toUpperCase().padStart(16, "5");
    const state = { cancelled: false, refundedMinor: 0, reported: 0, returnsMs: [], named: false };
    const copy: Copy = { publicId, transaction, ...state };
    this.#copies.push(copy);
    const document = this.#document(copy, { operation: "authorization" });
    this.#send(document, SOON_MS, () => this.#name(copy));
  }

  /** Does it now, or when we know how the gateway calls the order. */
  whenNamed(order: string, work: () => void): void {
    if (this.#of(order).some(({ named }) => named)) work();
    else this.#waiting.push({ order, work });
  }

  /** In the merchant's pages. false: that cannot be done any more. */
  giveBack(order: string, given: Given): boolean {
    const copy = this.#of(order).find((one) => leftOf(one) > 0) ?? this.#of(order)[0];
    return copy !== undefined && this.#move(copy, given) === "sent";
  }

  /** By the interface of the gateway. */
  operate(publicId: string, given: Given): TryClass {
    const copy = this.#copies.find((one) => one.publicId === publicId);
    return copy ? this.#move(copy, given) : "order-refused";
  }

  lookUp(publicId: string): LookupAnswer {
    const copy = this.#copies.find((one) => one.publicId === publicId);
    const none = { httpStatus: 404, description: "no such transaction" };
    if (!copy) return { outcome: "not-found", ...none };
    const { orderId, transactionId, currency, exponent, amountMinor } = copy.transaction;
    const { refundedMinor } = copy;
    const capturedMinor = refundedMinor > 0 ? amountMinor : 0;
    const sums = { amountMinor, capturedMinor, refundedMinor };
    const about = { transaction: {}, orderId, transactionId, currency, exponent };
    const said = { httpStatus: 200, description: "" };
    return { outcome: "found", ...said, found: { ...about, ...sums } };
  }

  /** Nothing more goes back, and the gateway sends the notifications that it had not sent yet. */
  finish(): void {
    this.#finished = true;
    const unsent = this.#untold;
    this.#untold = [];
    for (const notify of unsent) notify();
  }

  /** When money of an order went back, oldest first; milliseconds of the running clock. */
  returnsOf(order: string): readonly number[] {
    return this.#of(order)
      .flatMap(({ returnsMs }) => returnsMs)
      .sort((a, b) => a - b);
  }

  /** Since when nothing is left of any of its transactions; undefined: something is. */
  whollyReturnedMs(order: string): number | undefined {
    const copies = this.#of(order);
    if (copies.length === 0 || copies.some((copy) => leftOf(copy) > 0)) return undefined;
    return this.returnsOf(order).at(-1);
  }

  /** We have taken a notification about each return of the order. */
  isReported(order: string): boolean {
    return this.#of(order).every(
      ({ reported, returnsMs, named }) => named && reported >= returnsMs.length,
    );
  }

  #of(order: string): Copy[] {
    return this.#copies.filter(({ transaction }) => transaction.orderId === order);
  }

  #move(copy: Copy, { how, amountMinor, notified }: Given): TryClass {
    const left = leftOf(copy);
    const all = how === "cancel" || amountMinor === null;
    const sum = all ? left : amountMinor;
    // Only what nothing was taken from can be cancelled.
    if (
      this.#finished ||
      left === 0 ||
      sum > left ||
      (how === "cancel" && copy.refundedMinor > 0)
    ) {
      return "order-refused";
    }
    if (how === "cancel") copy.cancelled = true;
    else copy.refundedMinor += sum;
    copy.returnsMs.push(this.#clock.monotonicMs());
    const refundedAmount = formatMajor(sum, copy.transaction.exponent);
    const fields: Fields =
      how === "cancel" ? { operation: "cancellation" } : { operation: "refund", refundedAmount };
    this.#note(`${how} of ${copy.transaction.orderId}, ${sum}`);
    this.#notify(copy, fields, notified);
    return "sent";
  }

  #notify(copy: Copy, fields: Fields, notified: Notified): void {
    const document = this.#document(copy, fields);
    const send = (ms: number): void => {
      this.#send(document, ms, () => {
        copy.reported += 1;
      });
    };
    if (notified === "when-asked") {
      this.#untold.push(() => send(0));
      return;
    }
    send(notified === "late" ? LATE_MS : SOON_MS);
    if (notified === "twice") this.#send(document, LATE_MS, () => {});
  }

  #document({ publicId, transaction }: Copy, fields: Fields): string {
    const { orderId, transactionId, amountMinor, currency, exponent } = transaction;
    const seconds = `${(this.#documents++ % 60) + 100}`.slice(1);
    return mapiOf(
      resultOf({
        idForMerchant: orderId,
        transid: publicId,
        origCurrency: currency,
        origAmount: formatMajor(amountMinor, exponent),
        time: `12:00:${seconds} UTC+0000`,
        merchantDatas: `<_aKey_transactionId>${transactionId}</_aKey_transactionId>`,
        ...fields,
      }),
    );
  }

  #send(document: string, ms: number, taken: () => void, tries = TRIES_MAX): void {
    this.#clock.startTimer("notification", ms, () => {
      const isTaken = this.#deliver(document);
      const [operation] = /(?<=<operation>)\w+/.exec(document) ?? [];
      this.#note(`notification ${operation}, ${isTaken ? "taken" : "not taken"}`);
      if (isTaken) taken();
      else if (tries > 1) this.#send(document, REPEAT_MS, taken, tries - 1);
    });
  }

  #note(text: string): void {
    this.entries.push({ atMs: this.#clock.monotonicMs(), text: `gateway: ${text}` });
  }

  #name(copy: Copy): void {
    copy.named = true;
    const { orderId } = copy.transaction;
    const due = this.#waiting.filter(({ order }) => order === orderId);
    for (const one of due) this.#waiting.splice(this.#waiting.indexOf(one), 1);
    for (const { work } of due) work();
  }
}

function leftOf({ transaction, cancelled, refundedMinor }: Copy): number {
  return cancelled ? 0 : transaction.amountMinor - refundedMinor;
}
