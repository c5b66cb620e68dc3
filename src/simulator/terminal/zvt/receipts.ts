import { number as findCurrency } from "currency-codes";
import {
  type Charset,
  codeOfCharset,
  concat,
  container,
  encodeText,
  fromHex,
  type RawTag,
  type Totals,
  tag,
  tagValue,
  totalsGroups,
  writeTags,
} from "../../../zvt/index.ts";
import { maskedPan, testCards } from "../bank/cards.ts";
import type { StoredTransaction, TransactionKind } from "../memory/memory.ts";
import { has, localTime, type Outgoing, type Parts } from "./machine/parts.ts";
import type { Process } from "./machine/process.ts";
import { type Reported, timeFields, zvtCard } from "./machine/report.ts";

/** One line of a receipt: a text at the left edge, and perhaps one at the right edge. */
interface ReceiptLine {
  readonly text: string;
  readonly right?: string;
  /** The attribute bits of the line (docs/zvt.md 7.3). */
  readonly attribute: number;
}
export type Receipt = readonly ReceiptLine[];

const CENTRED = 0x40;
const LARGE = 0x30;

/** The kinds of receipts, with their code in tag 1F07 (docs/zvt.md 7.3). */
const receiptTypes = {
  merchant: { code: 0x01, title: "Merchant copy" },
  customer: { code: 0x02, title: "Customer copy" },
  administration: { code: 0x03, title: "Administration" },
} as const;
type ReceiptType = keyof typeof receiptTypes;

interface ReceiptContent {
  readonly type: ReceiptType;
  readonly title: string;
  readonly transaction: Reported;
  readonly result: string;
}

function transactionReceipt(content: ReceiptContent, parts: Parts): Receipt {
  const { type, title, transaction, result } = content;
  const { device, registration } = parts;
  const { receiptNumber, authorisation } = transaction;
  const card = testCards[transaction.card];
  const { date, time } = localTime(new Date(transaction.atMs));
  const day = `${date.slice(6)}.${date.slice(4, 6)}.${date.slice(0, 4)}`;
  const clock = `${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}`;
  return [
    centred(`** ${receiptTypes[type].title} **`),
    centred(device.name),
    plain(""),
    { text: title, attribute: CENTRED + (registration.printerWidth >= 24 ? LARGE : 0) },
    pair(day, clock),
    pair("Terminal:", device.terminalId),
    pair("Trace:", String(transaction.trace).padStart(6, "0")),
    ...(receiptNumber === null ? [] : [pair("Receipt:", String(receiptNumber).padStart(4, "0"))]),
    plain(card.scheme),
    pair("Card:", maskedPan(card).replaceAll("X", "*")),
    pair("AID:", card.aid),
    ...(authorisation === "" ? [] : [pair("Authorisation:", authorisation)]),
    pair("Amount:", amountText(transaction)),
    plain(""),
    centred(result),
  ];
}

function amountText({ amountMinor, currency }: Pick<Reported, "amountMinor" | "currency">): string {
  const { code = currency, digits = 2 } = findCurrency(currency.slice(1)) ?? {};
  return `${code} ${(amountMinor / 10 ** digits).toFixed(digits).replace(".", ",")}`;
}

function plain(text: string): ReceiptLine {
  return { text, attribute: 0 };
}

function centred(text: string): ReceiptLine {
  return { text, attribute: CENTRED };
}

export function pair(text: string, right: string): ReceiptLine {
  return { text, right, attribute: 0 };
}

function filled({ text, right }: ReceiptLine, width: number): string {
  if (right === undefined) return text;
  return text + right.padStart(Math.max(width - text.length, right.length + 1));
}

/** The attribute of a receipt's last line; some terminals use 8F (docs/zvt.md 7.3). */
const LAST = 0x81;
const LAST_OF_SOME = 0x8f;

const PRINT_TEXT_BLOCK = 0x06d3;
/** The first bytes of a container with a receipt type (tag 1F07); the type follows them. */
const RECEIPT_TYPE_HEAD = fromHex("06041f0701");
/** The command (06 1A) whose printout some terminals send without an end mark. */
const UNENDED = 0x061a;
const BLOCK_OVERHEAD_BYTES = 32;

type Printed = "printed" | "printer-not-ready" | "silent";

/** Whether the register prints this type of receipt for the terminal (docs/zvt.md 6.1). */
function registerPrints({ parts }: Process, type: ReceiptType): boolean {
  const { registration } = parts;
  const prints =
    type === "administration" ? "registerPrintsAdministration" : "registerPrintsPayments";
  return has(registration, prints) && has(registration, "printMessages");
}

/** Sends a receipt as a block (06 D3) if tag 26 permits, else as lines (06 D1; docs/zvt.md 6.1). */
async function print(process: Process, type: ReceiptType, receipt: Receipt): Promise<Printed> {
  const { parts } = process;
  const { printerWidth: width } = parts.registration;
  const lines = receipt.map((line) => ({ attribute: line.attribute, text: filled(line, width) }));
  const agreed = process.textCharset();
  const withContainer = parts.is("print-lines-only") || !!process.fault("print-container");
  const permitted = parts.registration.permitted.has(PRINT_TEXT_BLOCK) && process.mayContain;
  const asBlock = !withContainer && (permitted || parts.is("print-blocks-only"));
  const mark = parts.is("end-attribute-8f") ? LAST_OF_SOME : LAST;
  const last = process.control === UNENDED && parts.is("no-end-mark") ? null : mark;
  const charset = asBlock && parts.is("blocks-in-latin2") ? "iso8859-2" : agreed;
  // Terminals of card complete add the receipt type to the printed text (docs/zvt.md 12.2).
  const code = Uint8Array.of(receiptTypes[type].code);
  const tail = withContainer ? { tail: concat([RECEIPT_TYPE_HEAD, code]) } : {};
  const end = last === null ? [] : [{ attribute: last, text: "" }];
  const messages = asBlock
    ? blocks({ type, charset, last }, lines, parts.registration.messageBytesMax)
    : [...lines, ...end].map((line): Outgoing => ({ parts: line, charset, ...tail }));
  for (const input of messages) {
    const answer = await process.say(asBlock ? "print-text-block" : "print-line", input);
    if (answer.kind === "silent") return "silent";
    // 84 CC 00 reports that paper is missing; any other refusal is treated in the same way.
    if (answer.kind === "negative") return "printer-not-ready";
  }
  return "printed";
}

/** The bits of tag 1F04: the copies that the register wants (docs/zvt.md 11.2). */
const wantedBits = {
  approved: { customer: 0x80, merchant: 0x20 },
  declined: { customer: 0x40, merchant: 0x10 },
} as const;

const titles: Readonly<Record<TransactionKind, string>> = {
  payment: "PURCHASE",
  reversal: "REVERSAL",
  refund: "REFUND",
  reservation: "RESERVATION",
  booking: "BOOKING",
};

/** Prints the copies that the register asks for, or else the copies of the switch `--receipts`. */
export async function printReceipts(
  process: Process,
  transaction: StoredTransaction,
  title = titles[transaction.kind],
): Promise<Printed> {
  const { receipts } = process.parts.options.behaviour;
  const both = receipts === "both" ? (["merchant", "customer"] as const) : [receipts];
  const copies = wantedCopies(process, "approved") ?? both;
  return await printCopies(process, copies, { title, transaction, result: "APPROVED" });
}

/** Prints the receipt of a declined payment if the register asked for such receipts. */
export async function printDeclined(process: Process, transaction: Reported, resultCode: number) {
  const copies = wantedCopies(process, "declined") ?? [];
  const { payment: title } = titles;
  const result = `DECLINED ${String(resultCode).padStart(2, "0")}`;
  return await printCopies(process, copies, { title, transaction, result });
}

export async function printAdministration(process: Process, title: string, lines: Receipt) {
  if (!registerPrints(process, "administration")) return;
  const { device, now } = process.parts;
  const { date, time } = localTime(now);
  await print(process, "administration", [
    centred(`** ${title} **`),
    pair(date, time),
    pair("Terminal:", device.terminalId),
    ...lines,
  ]);
}

type Copy = "merchant" | "customer";

/** Returns the copies that the command names, or else the registration (docs/zvt.md 6.1). */
function wantedCopies({ request, parts }: Process, when: keyof typeof wantedBits) {
  const wanted = tagValue(request.tags, "receiptsWanted")?.[0] ?? parts.registration.receiptsWanted;
  if (wanted === null) return undefined;
  const bits = wantedBits[when];
  return (["merchant", "customer"] as const).filter((copy) => (wanted & bits[copy]) !== 0);
}

async function printCopies(
  process: Process,
  copies: readonly Copy[],
  content: Omit<ReceiptContent, "type">,
): Promise<Printed> {
  if (copies.length === 0 || !registerPrints(process, "customer")) return "printed";
  await process.reach("print");
  for (const type of copies) {
    const lines = transactionReceipt({ ...content, type }, process.parts);
    const how = await print(process, type, lines);
    if (how !== "printed") return how;
  }
  await process.reach("printed");
  return "printed";
}

interface Paper {
  readonly type: ReceiptType;
  readonly charset: Charset;
  /** The attribute of an empty line at the end; null: no such line is printed. */
  readonly last: number | null;
}

function blocks({ type, charset, last }: Paper, lines: Receipt, messageBytesMax: number) {
  const texts: RawTag[][] = [[]];
  let attributeNow = 0;
  let bytes = 0;
  for (const line of lines) {
    const text = tag("textLine", encodeText(line.text, charset));
    if (bytes + writeTags([text]).length + BLOCK_OVERHEAD_BYTES > messageBytesMax) {
      texts.push([]);
      attributeNow = 0;
      bytes = 0;
    }
    // The attribute of tag 09 applies to all lines after the tag (docs/zvt.md 7.3).
    const { attribute } = line;
    const added = attribute === attributeNow ? [text] : [tag("attribute", attribute), text];
    texts.at(-1)?.push(...added);
    bytes += writeTags(added).length;
    attributeNow = attribute;
  }
  if (last !== null) texts.at(-1)?.push(tag("attribute", last));
  return texts.map((tags) => ({
    tags: [
      ...(charset === "cp437" ? [] : [tag("charset", codeOfCharset(charset))]),
      tag("receiptType", receiptTypes[type].code),
      container("printTexts", tags),
    ],
  }));
}

/** The largest count of a group in field 60, whose counts have one byte (docs/zvt.md 7.1). */
const COUNT_MAX = 0xff;

/**
 * Reports the totals since the last end of day (docs/zvt.md 7.1) and returns them as lines.
 * `trace`: the trace number if the terminal asks the bank; null: it does not.
 */
export async function reportTotals(process: Process, trace: number | null) {
  const { memory, now, options } = process.parts;
  const counted = memory.turnover.filter(
    ({ kind, state }) => state === "stored" && kind !== "reversal" && kind !== "reservation",
  );
  const allInFirst = process.parts.is("totals-in-first-group");
  const totals = totalsOf(memory.turnover, counted, allInFirst);
  const amount = totals.groups.reduce((sum, group) => sum + group.amount, 0);
  await process.report({
    fields: {
      resultCode: 0x00,
      amount,
      totals,
      ...(trace === null ? {} : { trace: String(trace).padStart(6, "0") }),
      ...timeFields(now.getTime()),
    },
  });
  const currency = options.behaviour.currencies[0] as string;
  const line = (name: string, count: number, amountMinor: number) =>
    pair(`${count} ${name}`, amountText({ amountMinor, currency }));
  return [
    ...totals.groups
      .filter(({ count }) => count > 0)
      .map((group) => line(group.group, group.count, group.amount)),
    line("total", counted.length, amount),
  ];
}

function totalsOf(
  turnover: readonly StoredTransaction[],
  counted: readonly StoredTransaction[],
  allInFirst: boolean,
): Totals {
  const groups = totalsGroups.map((group, index) => {
    const mine = counted.filter(
      ({ card }) => (allInFirst ? 0 : zvtCard(card).totalsGroup) === index,
    );
    const amount = mine.reduce(
      (sum, { kind, amountMinor }) => sum + (kind === "refund" ? -amountMinor : amountMinor),
      0,
    );
    // Field 60 has no sign, so a negative sum is reported as zero.
    return { group, count: Math.min(mine.length, COUNT_MAX), amount: Math.max(amount, 0) };
  });
  return {
    receiptFrom: receiptNumber(turnover[0]),
    receiptTo: receiptNumber(turnover.at(-1)),
    groups,
  };
}

function receiptNumber(stored: StoredTransaction | undefined): string {
  return String(stored?.receiptNumber ?? 0).padStart(4, "0");
}
