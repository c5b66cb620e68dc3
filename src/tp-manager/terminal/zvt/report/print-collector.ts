import { ticketOfLines } from "../../../../shared/masking/printed-lines.ts";
import { findTags, type Message, tagValue } from "../../../../zvt/index.ts";

/** The value of tag 1F07 (type of receipt) for the customer's receipt (docs/zvt.md 7.3). */
const CUSTOMER_RECEIPT = 2;

interface PrintedReceipt {
  type: number | null;
  readonly lines: string[];
  closed: boolean;
}

/** The attribute of a print line that holds only line feeds. */
const FEED = 0xff;
/** The bit of a receipt's last line; it counts only with another bit (docs/zvt.md 7.3). */
const LAST_LINE = 0x80;

/** The most characters collected, far above any receipt, so that memory stays bounded. */
const CHARACTERS_MAX = 200_000;

/** Joins the print messages (06 D1, 06 D3) of one command into receipts (docs/zvt.md 7.3). */
export class PrintCollector {
  readonly #receipts: PrintedReceipt[] = [];
  #characters = 0;

  add(message: Message): void {
    this.#characters += 1;
    if (this.#characters > CHARACTERS_MAX) return;
    if (message.name === "print-line") this.#line(message);
    if (message.name === "print-text-block") this.#block(message);
  }

  /** The customer's receipt, if known, else all; `|` separates lines; "": nothing was printed. */
  get ticket(): string {
    const customer = this.#receipts.filter(isForCustomer);
    const chosen = customer.length > 0 ? customer : this.#receipts;
    return chosen
      .map(({ lines }) => ticketOfLines(lines))
      .filter(Boolean)
      .join("||");
  }

  #line({ parts, tags }: Message): void {
    const receipt = this.#open(tagValue(tags, "receiptType") ?? null);
    const attribute = parts.attribute ?? 0;
    if (attribute === FEED) {
      // This line holds a number of line feeds instead of a text (docs/zvt.md 7.3).
      for (let feeds = Math.max(parts.lineFeeds ?? 1, 1); feeds > 0; feeds--) this.#add(receipt);
      return;
    }
    const last = isLast(attribute);
    if (!(last && !parts.text)) this.#add(receipt, parts.text);
    receipt.closed = last;
  }

  #block({ tags }: Message): void {
    const receipt = this.#open(tagValue(tags, "receiptType") ?? null);
    const inside = findTags(tags, "printTexts").flatMap(({ children }) => children ?? []);
    for (const { name, value } of inside) {
      if (name === "textLine") this.#add(receipt, typeof value === "string" ? value : "");
      if (name !== "attribute" || typeof value !== "number") continue;
      if (value === FEED) this.#add(receipt);
      else if (isLast(value)) receipt.closed = true;
    }
  }

  #add({ lines }: PrintedReceipt, line = ""): void {
    this.#characters += line.length + 1;
    lines.push(line);
  }

  /** Returns the receipt that is being printed; begins one after a last line or for a new type. */
  #open(type: number | null): PrintedReceipt {
    const current = this.#receipts.at(-1);
    const isSame = type === null || current?.type === null || current?.type === type;
    if (current && !current.closed && isSame) {
      current.type ??= type;
      return current;
    }
    const receipt = { type, lines: [], closed: false };
    this.#receipts.push(receipt);
    return receipt;
  }
}

function isLast(attribute: number): boolean {
  return (attribute & LAST_LINE) !== 0 && attribute !== LAST_LINE && attribute !== FEED;
}

function isForCustomer({ type, lines }: PrintedReceipt): boolean {
  if (type !== null) return type === CUSTOMER_RECEIPT;
  return lines.some((line) => /kundenbeleg|customer (copy|receipt)|ticket client/i.test(line));
}
