import {
  minorOf,
  type PaymentResponse,
  readAdditional,
  receiptLine,
  safeId,
  safeText,
  timeOf,
} from "../../../nexo/index.ts";
import { maskPan } from "../../../shared/masking/mask.ts";
import { ticketOfLines } from "../../../shared/masking/printed-lines.ts";
import { currencyOf } from "../../../shared/money.ts";
import { emptyReceipt, RECEIPT_AMOUNT_DIGITS } from "../../../shared/receipt.ts";
import { fallbackTicket } from "../report-fields.ts";
import { emptyReport, type TransactionReport } from "../terminal.ts";
import type { Reading } from "./answer-policy.ts";

/** Makes a report from the answer to a payment (docs/nexo.md 4.2). */
export function paymentReport(body: PaymentResponse, reading: Reading): TransactionReport {
  const result = body.PaymentResult ?? {};
  const good = reading.reading === "approved";
  const { Currency = "", AuthorizedAmount } = result.AmountsResp ?? {};
  const currency = currencyOf(Currency);
  const amountMinor = good ? minorOf(AuthorizedAmount, currency) : null;
  const { TransactionID, TimeStamp } = body.POIData?.POITransactionID ?? {};
  const id = safeId(TransactionID);
  const pairs = readAdditional(body.Response.AdditionalResponse);
  const { MaskedPan, PaymentBrand, EntryMode } = result.PaymentInstrumentData?.CardData ?? {};
  const { ApprovalCode = pairs.get("authCode"), MerchantID = "" } =
    result.PaymentAcquirerData ?? {};
  const textOf = (name: string): string => safeText(pairs.get(name) ?? "");
  const isPan = MaskedPan !== undefined && /^.{1,40}$/.test(MaskedPan);
  const maskedPan = isPan ? maskPan(MaskedPan) : null;
  const authorisation = ApprovalCode === undefined ? null : safeText(ApprovalCode);
  const cardName = PaymentBrand === undefined ? null : safeText(PaymentBrand);
  const moment = momentOf(TimeStamp);
  const amount =
    amountMinor === null ? "" : String(amountMinor).padStart(RECEIPT_AMOUNT_DIGITS, "0");
  const caution = good ? cautionOf(body) : undefined;
  const report = {
    ...emptyReport,
    good,
    resultCode: resultCodeOf(body, reading),
    resultText: caution === undefined ? reading.text : `${reading.text}, ${caution}`,
    reason: reading.reading === "failed" ? reading.reason : null,
    amountMinor,
    currencyNumeric: currency?.numeric ?? null,
    receiptNumber: id,
    ...(id !== null && moment && TimeStamp ? { namedAt: TimeStamp } : {}),
    localDate: moment?.date ?? null,
    localTime: moment?.time ?? null,
    maskedPan,
    authorisationNumber: authorisation,
    cardName,
    reference: safeId(body.SaleData?.SaleTransactionID?.TransactionID),
    receipt: {
      ...emptyReceipt,
      localDate: moment?.dayMonthYear ?? "",
      localTime: moment?.time ?? "",
      transactionType: "payment",
      contractNumber: safeText(MerchantID),
      siteType: "unattended",
      primaryAccountNumber: maskedPan ?? "",
      currencyNumCode: currency?.numeric ?? "",
      acceptationSystemNum: textOf("tid"),
      transactionNumber: textOf("pspReference"),
      transactionFileNumber: id ?? "",
      readingMode: safeText(EntryMode?.join(" ") ?? ""),
      authorizationNumber: authorisation ?? "",
      amount,
      currencyAlphaCode: currency?.alpha ?? "",
      currencyFractionPart: currency ? String(currency.exponent) : "",
      inclusiveAmount: amount,
      AID: textOf("AID"),
      label: cardName ?? "",
    },
  };
  return { ...report, fallbackTicket: fallbackTicket({ ...report, resultText: reading.text }) };
}

/** Returns what a machine should not get with an approval; undefined: nothing of that. */
export function cautionOf({ Response, PaymentResult, PaymentReceipt = [] }: PaymentResponse) {
  const offline = readAdditional(Response.AdditionalResponse).get("offline");
  const cautions = [
    ...(PaymentResult?.OnlineFlag === false || offline === "true" ? ["without the bank"] : []),
    ...(PaymentReceipt.some((one) => one?.RequiredSignatureFlag) ? ["with a signature"] : []),
  ];
  return cautions.length === 0 ? undefined : cautions.join(" and ");
}

/** Returns the customer's receipt; "": the terminal sent none (docs/nexo.md 10.1). */
export function ticketOf({ PaymentReceipt: receipts = [] }: PaymentResponse): string {
  const own = receipts.find((one) => one?.DocumentQualifier === "CustomerReceipt");
  const lines = own?.OutputContent?.OutputText ?? [];
  return ticketOfLines(lines.map((line) => receiptLine(line?.Text ?? "")));
}

/** Without a code a report proves nothing. */
function resultCodeOf({ Response }: PaymentResponse, reading: Reading): string | null {
  if (reading.reading === "approved") return Response.Result;
  return reading.reading === "unclear" ? null : reading.code;
}

/** Returns the local date and time of a time stamp, as reports and receipts have them. */
function momentOf(timeStamp: string | undefined) {
  const ms = timeOf(timeStamp);
  if (ms === null) return null;
  const at = new Date(ms);
  const two = (number: number): string => String(number % 100).padStart(2, "0");
  const [month, day] = [two(at.getMonth() + 1), two(at.getDate())];
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join("");
  return { date: month + day, time, dayMonthYear: day + month + two(at.getFullYear()) };
}
