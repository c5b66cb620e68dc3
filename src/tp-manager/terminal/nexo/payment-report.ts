import {
  minorOf,
  type PaymentResponse,
  readAdditional,
  receiptLine,
  timeOf,
} from "../../../nexo/index.ts";
import { maskPan, maskPansInText } from "../../../shared/masking/mask.ts";
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
  const id = body.POIData?.POITransactionID;
  const pairs = readAdditional(body.Response.AdditionalResponse);
  const card = result.PaymentInstrumentData?.CardData ?? {};
  const maskedPan = card.MaskedPan ? maskPan(card.MaskedPan) : null;
  const authorisation = result.PaymentAcquirerData?.ApprovalCode ?? pairs.get("authCode") ?? null;
  const moment = momentOf(id?.TimeStamp);
  const amount =
    amountMinor === null ? "" : String(amountMinor).padStart(RECEIPT_AMOUNT_DIGITS, "0");
  const report = {
    ...emptyReport,
    good,
    resultCode: resultCodeOf(body, reading),
    resultText: maskPansInText(reading.text),
    reason: reading.reading === "failed" ? reading.reason : null,
    amountMinor,
    currencyNumeric: currency?.numeric ?? null,
    receiptNumber: id?.TransactionID ?? null,
    ...(id?.TimeStamp ? { namedAt: id.TimeStamp } : {}),
    localDate: moment?.date ?? null,
    localTime: moment?.time ?? null,
    maskedPan,
    authorisationNumber: authorisation,
    cardName: card.PaymentBrand ?? null,
    reference: body.SaleData?.SaleTransactionID?.TransactionID ?? null,
    receipt: {
      ...emptyReceipt,
      localDate: moment?.dayMonthYear ?? "",
      localTime: moment?.time ?? "",
      transactionType: "payment",
      contractNumber: result.PaymentAcquirerData?.MerchantID ?? "",
      siteType: "unattended",
      primaryAccountNumber: maskedPan ?? "",
      currencyNumCode: currency?.numeric ?? "",
      acceptationSystemNum: pairs.get("tid") ?? "",
      transactionNumber: pairs.get("pspReference") ?? "",
      transactionFileNumber: id?.TransactionID ?? "",
      readingMode: card.EntryMode?.join(" ") ?? "",
      authorizationNumber: authorisation ?? "",
      amount,
      currencyAlphaCode: currency?.alpha ?? "",
      currencyFractionPart: currency ? String(currency.exponent) : "",
      inclusiveAmount: amount,
      AID: pairs.get("AID") ?? "",
      label: card.PaymentBrand ?? "",
    },
  };
  return { ...report, fallbackTicket: fallbackTicket(report) };
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
