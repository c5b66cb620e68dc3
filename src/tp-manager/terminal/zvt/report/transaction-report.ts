import { type CurrencyCodeRecord, number as findCurrency } from "currency-codes";
import { emptyReceipt, RECEIPT_AMOUNT_DIGITS, type Receipt } from "../../../../shared/receipt.ts";
import { findTags, type Message, type TagName, tagValue, toHex } from "../../../../zvt/index.ts";
import {
  cardTypeName,
  codeText,
  declineAdvice,
  type Language,
  resultCode,
  resultText,
} from "../../../../zvt/tables/result-codes.ts";
import { expiryYymmdd, fallbackTicket } from "../../report-fields.ts";
import type { AbortReason, TransactionReport } from "../../terminal.ts";

interface ReportContext {
  readonly options: { readonly language: Language };
  /** By its time a date without a year gets its year. */
  readonly clock: { now(): number };
}

/** Returns the report of a result 04 0F (docs/zvt.md 7.1). */
export function transactionReport(message: Message, context: ReportContext): TransactionReport {
  const { fields, parts, tags } = message;
  const code = fields.resultCode ?? parts.resultCode ?? null;
  const traceNumber = trace(message);
  const receipt = receiptOf(message, context, traceNumber);
  // A host code A0 to AF is a refusal, although field 27 is then 00 (docs/zvt.md 6.2).
  const hostCode = fields.resultCodeAs ?? 0;
  const good = code === 0 && !(hostCode >= 0xa0 && hostCode <= 0xaf);
  const report = {
    good,
    resultCode: code === null ? null : codeText(code),
    resultText: resultTextOf(fields.additionalText?.trim(), code, good, context.options.language),
    reason: good || code === null ? null : abortReason(code, fields.additionalText),
    ...(good || code === null ? {} : { advice: declineAdvice(code, fields.resultCodeAs) }),
    amountMinor: fields.amount ?? null,
    currencyNumeric: receipt.currencyNumCode || null,
    receiptNumber: fields.receiptNumber ?? null,
    traceNumber,
    originalTrace: fields.originalTrace ?? null,
    terminalId: fields.terminalId ?? tagValue(tags, "terminalId") ?? null,
    localDate: fields.date ?? null,
    localTime: fields.time ?? null,
    maskedPan: fields.pan || null,
    authorisationNumber: fields.authorisationAttribute?.trim() || null,
    cardName: receipt.label || null,
    receipt,
  };
  return { ...report, fallbackTicket: fallbackTicket(report) };
}

/** Returns the terminal's text for the customer; the text of a bad code comes before it. */
function resultTextOf(
  said: string | undefined,
  code: number | null,
  good: boolean,
  language: Language,
): string {
  if (said && (good || !code)) return said;
  if (code === null) return "";
  const text = resultText(code === 0 && !good ? 0xff : code, language);
  return said ? `${text}: ${said}` : text;
}

/** Returns the reason for a code; 6C is a time-out if its text says so (docs/zvt.md 11.4). */
export function abortReason(code: number, text: string | undefined): AbortReason {
  const { reason } = resultCode(code);
  const timedOut = /zeit(über|limit)|time.?out|délai|temps/i.test(text ?? "");
  if (reason === "cancelled" && timedOut) return "customer-timeout";
  return code === 0 ? "declined" : reason;
}

/** Returns the trace number; a number of more than six digits is in tag 1F2B (docs/zvt.md 7.1). */
function trace({ fields, tags }: Message): string | null {
  const long = tagValue(tags, "longTrace");
  if (long && (fields.trace === undefined || /^0*$/.test(fields.trace))) return long;
  return fields.trace ?? null;
}

function cardName({ fields, tags }: Message): string {
  return (
    fields.cardName?.trim() ||
    tagOrInApplication(tags, "preferredName") ||
    tagOrInApplication(tags, "applicationLabel") ||
    cardTypeName(fields.cardType, tagValue(tags, "cardType")) ||
    ""
  );
}

function tagOrInApplication(tags: Message["tags"], name: "preferredName" | "applicationLabel") {
  return (tagValue(tags, name) ?? tagValue(tags, "application", name) ?? "").trim();
}

/** Currencies found before: findCurrency searches the whole list each time. */
const currencies = new Map<string, CurrencyCodeRecord>();

function currencyByNumber(numeric: string): CurrencyCodeRecord | undefined {
  const found = currencies.get(numeric) ?? findCurrency(numeric);
  if (found) currencies.set(numeric, found);
  return found;
}

function receiptOf(message: Message, context: ReportContext, traceNumber: string | null): Receipt {
  const { fields, tags } = message;
  // Field 49 has four digits, of which the last three are those of ISO 4217.
  const numeric = fields.currency?.slice(-3);
  const currency = numeric === undefined ? undefined : currencyByNumber(numeric);
  const aid = tagValue(tags, "aid") ?? tagValue(tags, "application", "aid");
  const amount = paddedAmount(fields.amount);
  return {
    ...emptyReceipt,
    ticketHeader: texts(message, "receiptHeader"),
    localDate: localDateDdmmyy(fields.date, context.clock.now()),
    localTime: fields.time ?? "",
    transactionType: fields.originalTrace === undefined ? "payment" : "reversal",
    contractNumber: fields.contractNumber?.trim() ?? "",
    paymentType: paymentTypes.get((fields.typeByte ?? 0) & 0xf0) ?? "",
    siteType: "unattended",
    primaryAccountNumber: fields.pan ?? "",
    cardAppExpiry: expiryYymmdd(fields.expiry),
    currencyNumCode: numeric ?? "",
    acceptationSystemNum: fields.terminalId ?? "",
    transactionNumber: traceNumber ?? "",
    transactionFileNumber: fields.receiptNumber ?? "",
    readingMode: readingModes[tagValue(tags, "payment", "technology") ?? -1] ?? "",
    authorizationNumber: fields.authorisationAttribute?.trim() ?? "",
    amount,
    currencyAlphaCode: currency?.code ?? "",
    currencyFractionPart: currency ? String(currency.digits) : "",
    inclusiveAmount: amount,
    ticketFooter: texts(message, "receiptAdvert"),
    AID: aid ? toHex(aid).toUpperCase() : "",
    label: cardName(message),
  };
}

/** Names of payment types by the value of field 19 in a result 04 0F (docs/zvt.md 7.1). */
const paymentTypes: ReadonlyMap<number, string> = new Map([
  [0x40, "offline"],
  [0x50, "checked"],
  [0x60, "online"],
  [0x70, "pin"],
]);

/** Names of card reading modes by the value of tag 1F12 inside tag 2F (docs/zvt.md 11.2). */
const readingModes = ["stripe", "chip", "contactless"];

function texts({ tags }: Message, name: TagName): string {
  return findTags(tags, name, "textLine")
    .map(({ value }) => (typeof value === "string" ? value.replaceAll("|", " ").trim() : ""))
    .join("|");
}

/** Returns an amount with leading zeros; "" if it has too many digits, as none may be cut. */
function paddedAmount(amountMinor: number | undefined): string {
  const digits = String(amountMinor ?? "").padStart(RECEIPT_AMOUNT_DIGITS, "0");
  return amountMinor === undefined || digits.length > RECEIPT_AMOUNT_DIGITS ? "" : digits;
}

/** Returns a local date MMDD as DDMMYY; "" when the date is no calendar day. */
function localDateDdmmyy(dateMmdd: string | undefined, nowMs: number): string {
  const [, month, day] = /^(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/.exec(dateMmdd ?? "") ?? [];
  if (month === undefined || day === undefined) return "";
  const now = new Date(nowMs).getFullYear();
  const distanceMs = (year: number): number =>
    Math.abs(new Date(year, Number(month) - 1, Number(day), 12).getTime() - nowMs);
  // ZVT sends no year (docs/zvt.md 7.1): the year is chosen that brings the date nearest to now.
  const nearest = [now, now - 1, now + 1].reduce((best, year) =>
    distanceMs(year) < distanceMs(best) ? year : best,
  );
  return day + month + String(nearest % 100).padStart(2, "0");
}

/**
 * Returns the terminal's clock minus ours in ms, from tags 1F0E (YYYYMMDD) and 1F0F (HHMMSS); null
 * when a tag is missing or malformed.
 */
export function clockOffsetMs(date: string | undefined, time: string | undefined, nowMs: number) {
  const found = /^(\d{4})(\d\d)(\d\d) (\d\d)(\d\d)(\d\d)$/.exec(`${date} ${time}`);
  if (!found) return null;
  const [year = 0, month = 0, day = 0, ...times] = found.slice(1).map(Number);
  return new Date(year, month - 1, day, ...times).getTime() - nowMs;
}
