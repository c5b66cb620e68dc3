import { formatMajor } from "../../shared/money.ts";
import type { Receipt } from "../../shared/receipt.ts";
import type { TransactionReport } from "./terminal.ts";

/** Makes a ticket from the fields of a report, for a terminal that printed no ticket. */
export function fallbackTicket(report: Omit<TransactionReport, "fallbackTicket">): string {
  const { receipt } = report;
  const { localDate, localTime } = receipt;
  const lines = [
    ...receipt.ticketHeader.split("|"),
    labelled("Terminal", report.terminalId),
    labelled("Receipt", report.receiptNumber),
    labelled("Trace", report.traceNumber),
    labelled("Date", `${inPairs(localDate, ".")} ${inPairs(localTime, ":")}`.trim()),
    labelled("Card", [report.cardName, report.maskedPan].filter(Boolean).join(" ")),
    labelled("AID", receipt.AID),
    labelled("Approval", report.authorisationNumber),
    labelled("Contract", receipt.contractNumber),
    labelled("Amount", amountText(report.amountMinor, receipt)),
    report.resultText.replaceAll("|", " "),
  ];
  return lines.filter(Boolean).join("|");
}

function labelled(label: string, value: string | null): string {
  return value ? `${label}: ${value.replaceAll("|", " ")}` : "";
}

function inPairs(text: string, mark: string): string {
  if (text.length !== 6) return text;
  return [text.slice(0, 2), text.slice(2, 4), text.slice(4)].join(mark);
}

function amountText(amountMinor: number | null, receipt: Receipt): string {
  if (amountMinor === null) return "";
  const digits = Number(receipt.currencyFractionPart || 2);
  return `${formatMajor(amountMinor, digits)} ${receipt.currencyAlphaCode}`.trim();
}

/** Returns an expiry YYMM as YYMMDD with the last day of the month, as EMV does; "": no month. */
export function expiryYymmdd(yymm: string | undefined): string {
  if (!yymm || !/^\d\d(0[1-9]|1[0-2])$/.test(yymm)) return "";
  const year = 2000 + Number(yymm.slice(0, 2));
  const lastDay = new Date(year, Number(yymm.slice(2, 4)), 0).getDate();
  return `${yymm}${lastDay}`;
}
