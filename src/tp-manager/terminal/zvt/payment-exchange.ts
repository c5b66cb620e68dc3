import { BrokenInvariant } from "../../../shared/invariant.ts";
import { maskPansInText } from "../../../shared/masking/mask.ts";
import { findTags, type Message, tagValue } from "../../../zvt/index.ts";
import {
  coded,
  codeOf,
  codeText,
  declineAdvice,
  intermediateTexts,
  isGoodCompletion,
  isLock,
  refusalText,
} from "../../../zvt/tables/result-codes.ts";
import type {
  GoodsDecision,
  LastTransaction,
  PaymentEnd,
  PaymentObserver,
  TransactionReport,
} from "../terminal.ts";
import { PrintCollector } from "./report/print-collector.ts";
import { abortReason, transactionReport } from "./report/transaction-report.ts";
import type { ExchangeListener } from "./session/session.ts";
import type { ExchangeEnd, Verdict } from "./session/session-state.ts";
import type { ZvtContext } from "./zvt-options.ts";

export const withdrawn: PaymentEnd = {
  end: "withdrawn",
  text: "cancelled before the terminal was asked to charge",
};

/** The error code by which a terminal asks to send the command later (docs/zvt.md 11.4). */
const PLEASE_WAIT = 0x9c;

const UNJUDGED = "a result of the terminal could not be read or stored, and was refused";

/** Passes the messages of a payment or reversal to its observer, and derives the outcome. */
export class PaymentExchange implements ExchangeListener {
  /** Aborted when the payment is cancelled in time: its command is then never sent. */
  readonly withdrawal = new AbortController();
  cancelled = false;
  /** Only while "running", an abort stops this payment and no other command. */
  phase: "waiting" | "running" | "over" = "waiting";
  held = false;
  decision: GoodsDecision | undefined;
  #reported: TransactionReport | undefined;
  readonly #zvt: ZvtContext;
  readonly #observer: PaymentObserver;
  readonly #prints = new PrintCollector();
  #unjudged = false;

  constructor(zvt: ZvtContext, observer: PaymentObserver) {
    this.#zvt = zvt;
    this.#observer = observer;
  }

  begins(): boolean {
    if (this.withdrawal.signal.aborted) return false;
    this.phase = "running";
    return true;
  }

  /** Notes that a result was refused before it was judged, so that it may have been an approval. */
  unjudged(): void {
    this.#unjudged = true;
  }

  /** Lets the observer store the report; if it throws, the report is refused (docs/zvt.md 9.1). */
  judge(message: Message): Verdict {
    const report = transactionReport(message, this.#zvt);
    const before = this.#unjudged;
    // If the observer throws, the report stays marked as not judged.
    this.#unjudged = true;
    const verdict = this.#observer.report(report);
    this.#unjudged = before;
    this.#reported = report;
    if (verdict === "hold") this.held = true;
    return verdict;
  }

  /**
   * Reports the sale in the terminal's storage after a partial issue of goods: the storage has the
   * charged amount, which the terminal need not report (docs/zvt.md 8.4).
   */
  stored(last: LastTransaction): void {
    if (last.kind !== "transaction" || !this.#reported) return;
    if (last.report.receiptNumber !== this.#reported.receiptNumber) return;
    this.#reported = last.report;
    this.#observer.report(last.report);
  }

  /** Whether a part was to be charged, and no report has named that amount yet. */
  get partUnconfirmed(): boolean {
    const { decision } = this;
    if (decision?.goods !== "partly-issued") return false;
    return this.#reported?.amountMinor !== decision.amountMinor;
  }

  ackArrived(): void {
    this.#guarded("ackArrived", () => this.#observer.ackArrived());
  }

  message(message: Message): void {
    if (message.name === "intermediate-status") this.#prompt(message);
    else this.#prints.add(message);
  }

  ended(end: ExchangeEnd): PaymentEnd {
    const { ticket } = this.#prints;
    // The terminal may ignore our refusal: its stored sale decides (docs/rules/04-approval.md).
    if (this.#unjudged) return { end: "lost", code: "unjudged", text: UNJUDGED, ticket };
    if (this.withdrawal.signal.aborted) return withdrawn;
    switch (end.end) {
      case "not-sent":
        return { end: "not-sent", code: "link", text: end.problem };
      case "refused":
        return this.#refused(codeOf(end.message));
      case "aborted":
        return this.#aborted(end.message, ticket);
      case "completed":
        return this.#completed(end.message, ticket);
      case "answered": {
        const text = "the command ended without a completion";
        return { end: "lost", code: "protocol", text, ticket };
      }
      case "lost":
        return { end: "lost", code: "no-end", text: end.problem, ticket };
    }
  }

  /** Returns the outcome of a completion; a bad code means that the command failed. */
  #completed(message: Message, ticket: string): PaymentEnd {
    const code = message.fields.resultCode ?? 0;
    if (isGoodCompletion(code)) return { end: "completed", ticket };
    // Without a report it is unknown whether a sale was made (docs/rules/04-approval.md).
    if (!this.#reported) return { end: "lost", ...this.#coded(code), ticket };
    return { end: "aborted", ...this.#coded(code), reason: abortReason(code, undefined), ticket };
  }

  #refused(code: number): PaymentEnd {
    const reason = code === PLEASE_WAIT ? "busy" : abortReason(code, undefined);
    const text = refusalText(code, this.#zvt.options.language);
    return { end: "refused", code: codeText(code), text, reason };
  }

  /** Returns the outcome of an abort 06 1E, which may lack a code (docs/zvt.md 12.1). */
  #aborted({ parts, tags }: Message, ticket: string): PaymentEnd {
    const said = tagValue(tags, "vendorErrorText")?.trim();
    const code = parts.resultCode;
    if (code === undefined) {
      const text = said ?? "the terminal gave no reason";
      const reason = this.cancelled ? "cancelled" : "terminal-fault";
      return { end: "aborted", code: "", text, reason, ticket };
    }
    // A locked terminal aborts by its lock code, without a report (docs/zvt.md 5.3).
    const locked = !this.#reported && isLock(code);
    const meaning = locked ? refusalText(code, this.#zvt.options.language) : this.#coded(code).text;
    const text = said ? `${meaning} (${said})` : meaning;
    const end = { end: "aborted", code: codeText(code), text } as const;
    if (locked) return { ...end, reason: "terminal-fault", ticket };
    return { ...end, reason: abortReason(code, said), advice: declineAdvice(code), ticket };
  }

  #coded(code: number): { code: string; text: string } {
    return coded(code, this.#zvt.options.language);
  }

  #prompt({ parts, tags }: Message): void {
    const code = parts.status ?? 0xff;
    const said = findTags(tags, "displayTexts", "textLine")
      .map(({ value }) => (typeof value === "string" ? value.replaceAll("\n", " ").trim() : ""))
      .filter(Boolean)
      .join(" ");
    // The joined text is masked again, because a card number may be split across two lines.
    const texts = intermediateTexts(code);
    const text = maskPansInText(said) || (texts?.[this.#zvt.options.language] ?? "");
    const language = said ? "" : this.#zvt.options.language;
    this.#guarded("prompt", () => {
      this.#observer.prompt({ code: codeText(code), text, language, texts });
    });
  }

  #guarded(what: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      this.#zvt.log.error({ err: error }, `could not handle an event of the payment: ${what}`);
    }
  }
}
