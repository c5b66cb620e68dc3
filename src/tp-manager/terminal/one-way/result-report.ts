import { ticketOfLines as ticketOf } from "../../../shared/masking/printed-lines.ts";
import { currencyOf, formatMajor } from "../../../shared/money.ts";
import { emptyReceipt, RECEIPT_AMOUNT_DIGITS, type Receipt } from "../../../shared/receipt.ts";
import type { AbortReason, PaymentOrder, TransactionReport } from "../terminal.ts";

/** One result of a protocol that has no numbers, times and names of its own. */
export interface Result {
  readonly good: boolean;
  /** null: the terminal did not say how it ended. */
  readonly code: string | null;
  readonly text: string;
  readonly reason: AbortReason | null;
  readonly amountMinor: number | null;
  readonly currencyNumeric: string | null;
  readonly reference: string | null;
  readonly differs: readonly string[];
  readonly isOurRegister: boolean;
  /** Masked. */
  readonly maskedPan: string | null;
  readonly authorisationNumber?: string | null;
  readonly cardName?: string | null;
  readonly receipt?: Partial<Receipt>;
}

/** The report and receipt of a result; `order` is null for a result of an earlier payment. */
export function resultReport(result: Result, order: PaymentOrder | null): TransactionReport {
  const { good, code, text, reason, reference, differs, maskedPan } = result;
  const { authorisationNumber = null, cardName = null } = result;
  const amountMinor = result.amountMinor ?? (good ? (order?.amountMinor ?? null) : null);
  const currencyNumeric = result.currencyNumeric ?? order?.currencyNumeric ?? null;
  const currency = order && currencyNumeric === order.currencyNumeric ? order.currencyAlpha : "";
  const report = {
    good,
    resultCode: code,
    resultText: text,
    reason: good || code === null ? null : reason,
    // As it came: the matcher decides by it whose result this is.
    amountMinor: result.amountMinor,
    currencyNumeric,
    receiptNumber: null,
    traceNumber: null,
    originalTrace: null,
    terminalId: null,
    localDate: null,
    localTime: null,
    maskedPan,
    authorisationNumber,
    cardName,
    reference,
    ...(differs.length > 0 ? { differs } : {}),
    ...(result.isOurRegister ? { isOurRegister: true as const } : {}),
    receipt: receiptOf(result, amountMinor, currencyNumeric, currency),
  };
  return { ...report, fallbackTicket: fallbackTicket({ ...report, amountMinor }, currency) };
}

function receiptOf(
  { maskedPan, authorisationNumber, cardName, receipt }: Result,
  amountMinor: number | null,
  currencyNumeric: string | null,
  alpha: string,
): Receipt {
  const amount =
    amountMinor === null ? "" : String(amountMinor).padStart(RECEIPT_AMOUNT_DIGITS, "0");
  const exponent = currencyOf(alpha)?.exponent;
  return {
    ...emptyReceipt(),
    primaryAccountNumber: maskedPan ?? "",
    authorizationNumber: authorisationNumber ?? "",
    label: cardName ?? "",
    amount,
    inclusiveAmount: amount,
    currencyNumCode: currencyNumeric ?? "",
    currencyAlphaCode: alpha,
    currencyFractionPart: exponent === undefined ? "" : String(exponent),
    ...receipt,
  };
}

function fallbackTicket(report: Omit<TransactionReport, "fallbackTicket">, alpha: string): string {
  const { receipt, amountMinor, maskedPan, cardName, authorisationNumber } = report;
  const major =
    amountMinor === null ? "" : formatMajor(amountMinor, currencyOf(alpha)?.exponent ?? 2);
  const lines = [
    labelled("Card", [cardName, maskedPan].filter(Boolean).join(" ")),
    labelled("AID", receipt.AID),
    labelled("Approval", authorisationNumber ?? ""),
    labelled("Contract", receipt.contractNumber),
    labelled("Amount", `${major} ${alpha}`.trim()),
    report.resultText.replaceAll("|", " "),
  ];
  return lines.filter((line) => line !== "").join("|");
}

function labelled(label: string, value: string): string {
  return value === "" ? "" : `${label}: ${value}`;
}

/** Lines of a printed text, separated as in every ticket. */
export function ticketOfLines(text: string): string {
  return ticketOf(text.split(/\r?\n/));
}
