import { currencyOf } from "../../../shared/money.ts";
import { emptyReceipt, RECEIPT_AMOUNT_DIGITS, type Receipt } from "../../../shared/receipt.ts";
import { fallbackTicket } from "../fallback-ticket.ts";
import { emptyReport, type PaymentOrder, type TransactionReport } from "../terminal.ts";

/** One result of a protocol whose terminals have no numbers, clock and name of their own. */
export interface Result
  extends Pick<TransactionReport, "good" | "reason" | "amountMinor" | "currencyNumeric">,
    Partial<Pick<TransactionReport, "authorisationNumber" | "cardName">> {
  /** null: the terminal did not say how the payment ended. */
  readonly code: string | null;
  readonly text: string;
  readonly reference: string | null;
  readonly differs: readonly string[];
  readonly isOurRegister: boolean;
  /** Masked. */
  readonly maskedPan: string | null;
  readonly receipt?: Partial<Receipt>;
}

/** Returns the report of a result; `order` is null for the result of an earlier payment. */
export function resultReport(result: Result, order: PaymentOrder | null): TransactionReport {
  const { good, code, reason, differs, maskedPan } = result;
  const { authorisationNumber = null, cardName = null } = result;
  const charged = result.amountMinor ?? (good ? (order?.amountMinor ?? null) : null);
  const currencyNumeric = result.currencyNumeric ?? order?.currencyNumeric ?? null;
  const alpha = order && currencyNumeric === order.currencyNumeric ? order.currencyAlpha : "";
  const exponent = currencyOf(alpha)?.exponent;
  const amount = charged === null ? "" : String(charged).padStart(RECEIPT_AMOUNT_DIGITS, "0");
  const report = {
    ...emptyReport(),
    good,
    resultCode: code,
    resultText: result.text,
    reason: good || code === null ? null : reason,
    // As it came: the matcher decides by it which payment the result is of.
    amountMinor: result.amountMinor,
    currencyNumeric,
    maskedPan,
    authorisationNumber,
    cardName,
    reference: result.reference,
    ...(differs.length > 0 ? { differs } : {}),
    ...(result.isOurRegister ? { isOurRegister: true as const } : {}),
    receipt: {
      ...emptyReceipt(),
      primaryAccountNumber: maskedPan ?? "",
      authorizationNumber: authorisationNumber ?? "",
      label: cardName ?? "",
      amount,
      inclusiveAmount: amount,
      currencyNumCode: currencyNumeric ?? "",
      currencyAlphaCode: alpha,
      currencyFractionPart: exponent === undefined ? "" : String(exponent),
      ...result.receipt,
    },
  };
  return { ...report, fallbackTicket: fallbackTicket({ ...report, amountMinor: charged }) };
}
