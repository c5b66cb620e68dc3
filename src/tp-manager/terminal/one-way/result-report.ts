import { currencyOf } from "../../../shared/money.ts";
import { emptyReceipt, RECEIPT_AMOUNT_DIGITS, type Receipt } from "../../../shared/receipt.ts";
import { fallbackTicket } from "../fallback-ticket.ts";
import { emptyReport, type PaymentOrder, type TransactionReport } from "../terminal.ts";

/** A payment result of a terminal that sends no numbers, clock or name of its own. */
export interface Result
  extends Pick<TransactionReport, "good" | "reason" | "amountMinor" | "currencyNumeric">,
    Partial<Pick<TransactionReport, "authorisationNumber" | "cardName">> {
  /** The protocol's result code; null when the terminal did not say how the payment ended. */
  readonly code: string | null;
  readonly text: string;
  readonly reference: string | null;
  readonly differs: readonly string[];
  readonly isOurRegister: boolean;
  /** The card number, masked; null when the terminal sent none. */
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
    // The amount exactly as received: the matcher uses it to find the payment of the result.
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
