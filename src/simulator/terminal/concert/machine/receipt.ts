import { encodeTagged, hasCheckDigit, type Tagged, textOf } from "../../../../concert/index.ts";
import { type CardName, maskedPan, type TestCard, testCards } from "../../bank/cards.ts";
import type { Report } from "../options.ts";
import type { ConcertParts, Ending } from "./payment.ts";

/** For some cards: the last character of tag CC, the card's application (docs/concert.md 4.5). */
const modes: Partial<Record<CardName, string>> = { amex: "2", jcb: "9" };

/** Returns tag CC, the application of the card (docs/concert.md 4.5). */
export function applicationOf({ name, technology }: TestCard): string {
  return `00${modes[name] ?? (technology === "contactless" ? "B" : "1")}`;
}

/** Returns the card number as replies show it; `mask` replaces each hidden digit. */
export function printedPan(name: CardName, as: Report, mask: string): string {
  const card = testCards[name];
  if (as === "blank") return "";
  return as === "clear" ? madeUpPan(card) : maskedPan(card).replaceAll("X", mask);
}

/** Returns a number of no real card: zeros for the masked digits, and a valid check digit. */
function madeUpPan({ maskedDigits }: TestCard): string {
  const last = maskedDigits.lastIndexOf("E");
  for (let digit = 0; digit < 10; digit++) {
    const made = [...maskedDigits].map((c, i) => (i === last ? String(digit) : c)).join("");
    const pan = made.replaceAll("E", "0");
    if (hasCheckDigit(pan)) return pan;
  }
  return "";
}

const USUAL = "100";
const HTML_AT = 2;

/** Returns the receipt, even of a refusal, if CK or a fault demands it (docs/concert.md 4.6). */
export function receiptTags(
  parts: ConcertParts,
  asked: string | undefined,
  ending: Ending,
): readonly Tagged[] {
  const always = parts.fault("receipt") !== undefined;
  if (!always && asked?.[0] !== "1") return [];
  const form = asked ?? USUAL;
  const lines = receiptLines(parts, ending);
  const html = form[HTML_AT] === "1";
  const text = html
    ? `<pre>${lines.join("<br>")}</pre>`
    : lines.map((line) => `${line}\n`).join("");
  const base64 = Buffer.from(text, "latin1").toString("base64");
  // Base64 is sent in lines of 76 characters, each with a line feed (docs/concert.md 4.6).
  const lined = base64.replaceAll(/.{1,76}/g, "$&\n");
  const content = encodeTagged([
    ["CK", form],
    ["AK", lined],
  ]);
  return [["ZT", textOf(content)]];
}

export function receiptLines({ options, now }: ConcertParts, ending: Ending): readonly string[] {
  const { device } = options;
  const { amountMinor: amount, currency } = ending;
  return [
    "CARTE BANCAIRE",
    device.name,
    `CONTRAT ${device.contractNumber}`,
    now.toISOString().slice(0, 16).replace("T", " "),
    ...cardLines(ending),
    `MONTANT ${Math.floor(amount / 100)},${String(amount % 100).padStart(2, "0")} ${currency}`,
    ending.how === "done" ? "TICKET CLIENT A CONSERVER" : "ABANDON",
  ];
}

function cardLines(ending: Ending): readonly string[] {
  if (ending.how !== "done") return [];
  const card = testCards[ending.card];
  return [
    card.label,
    card.aid,
    maskedPan(card).replaceAll("X", "*"),
    `NO AUTO ${ending.authorisation}`,
  ];
}
