import { maskedPan, testCards } from "../../bank/cards.ts";
import type { Ending, Order } from "./order.ts";
import type { ConcertParts } from "./parts.ts";

/** The lines of the customer's receipt, as a terminal's own printer would have them. */
export function receiptLines(
  { options, now }: ConcertParts,
  { amountMinor, currency }: Order,
  ending: Ending,
): readonly string[] {
  const { device } = options;
  const amount = ending.how === "done" ? ending.amountMinor : amountMinor;
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
