import {
  bytesOf,
  maskedText,
  readTagged,
  type Tagged,
  tagValue,
  textOf,
} from "../../../concert/index.ts";
import { ticketOfLines } from "../one-way/result-report.ts";

/** The customer's receipt of ZT as a ticket; "" without one (docs/concert.md 4.6). */
export function printedReceipt(tags: readonly Tagged[]): string {
  const container = tagValue(tags, "ZT");
  const inside = container === undefined ? tags : readTagged(bytesOf(container)).tags;
  const encoded = tagValue(inside, "AK");
  if (encoded === undefined) return "";
  const text = textOf(Buffer.from(encoded.replace(/\s/g, ""), "base64"));
  const isHtml = tagValue(inside, "CK")?.[2] === "1" || /<(br|html|body|p|div|table)\b/i.test(text);
  return ticketOfLines(maskedText(isHtml ? textOfHtml(text) : text));
}

const entities: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: " ",
    euro: "EUR",
    eacute: "é",
    egrave: "è",
    agrave: "à",
    ccedil: "ç",
    ecirc: "ê",
  }),
);

function textOfHtml(html: string): string {
  return html
    .replace(/<(style|script|head)\b[\s\S]*?<\/\1\s*>/gi, "")
    .replace(/\r?\n/g, " ")
    .replace(/<br\b[^>]*>|<\/?(p|div|tr|h\d|li|pre)\b[^>]*>/gi, "\n")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(#\d{1,4}|[a-z]+);/gi, (whole, name: string) =>
      name.startsWith("#")
        ? String.fromCharCode(Number(name.slice(1)))
        : (entities.get(name.toLowerCase()) ?? whole),
    )
    .replace(/[ \t]+/g, " ")
    .replace(/ ?\n[\n ]*/g, "\n");
}
