import { type CardName, maskedPan, type TestCard, testCards } from "../../bank/cards.ts";
import type { Report } from "../options.ts";

/** The last character of CC: the payment mode of fixed fields (docs/concert.md 4.5). */
const modes: Partial<Record<CardName, string>> = { amex: "2", jcb: "9" };

/** CC: the application that was used (docs/concert.md 4.5). */
export function applicationOf({ name, technology }: TestCard): string {
  return `00${modes[name] ?? (technology === "contactless" ? "B" : "1")}`;
}

/** The card number as a terminal shows it. */
export function shownPan(name: CardName, as: Report, mask: string): string {
  const card = testCards[name];
  if (as === "blank") return "";
  return as === "clear" ? madeUpPan(card) : maskedPan(card).replaceAll("X", mask);
}

/**
 * A number in clear as real terminals may send it: zeros in place of the masked digits, and one
 * digit that makes the check digit right. No such card exists.
 */
function madeUpPan({ maskedDigits }: TestCard): string {
  const last = maskedDigits.lastIndexOf("E");
  for (let digit = 0; digit < 10; digit++) {
    const made = [...maskedDigits].map((c, i) => (i === last ? String(digit) : c)).join("");
    const pan = made.replaceAll("E", "0");
    if (isChecked(pan)) return pan;
  }
  return "";
}

function isChecked(pan: string): boolean {
  const sum = [...pan].reduceRight((total, c, i) => {
    const doubled = (pan.length - i) % 2 === 0 ? Number(c) * 2 : Number(c);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
