import { formatMajor } from "../../shared/money.ts";

const answerFields = ["transactionPublicId", "merchantReference", "amount", "currency"] as const;
export type AnswerField = (typeof answerFields)[number];
/** The fields of a refusal that are compared; not the amount, which may be 0 or the whole. */
const refusalFields = ["transactionPublicId", "merchantReference"] as const;

/** What an answer must agree with (docs/rules/21-agree.md); a missing member is not compared. */
export interface AskedFor {
  readonly transactionPublicId?: string;
  readonly merchantReference?: string;
  /** The amount in minor units; null: the whole amount, which is not known here. */
  readonly amountMinor?: number | null;
  readonly currency?: string;
  readonly exponent?: number;
  /** The fields that a successful answer must name, or it might belong to another request. */
  readonly needed: readonly AnswerField[];
}

/** Returns why the fields of a result disagree with the request; null: they agree. */
export function disagreement(
  asked: AskedFor,
  fields: ReadonlyMap<string, string>,
  success: boolean,
): string | null {
  for (const field of success ? answerFields : refusalFields) {
    const named = fields.get(field)?.trim() ?? "";
    if (named === "") {
      if (success && asked.needed.includes(field)) return `the answer names no ${field}`;
    } else if (!agrees(field, named, asked)) {
      return `the answer is about another ${field}: ${named}`;
    }
  }
  return null;
}

function agrees(field: AnswerField, named: string, asked: AskedFor): boolean {
  switch (field) {
    case "transactionPublicId":
    case "merchantReference": {
      const ours = asked[field];
      if (ours === undefined || ours === named) return true;
      // The gateway writes its ids as hex digits in either letter case (docs/gateway.md 2.9).
      return field === "transactionPublicId" && ours.toUpperCase() === named.toUpperCase();
    }
    case "amount":
      return amountAgrees(named, asked);
    case "currency":
      return asked.currency === undefined || named.toUpperCase() === asked.currency;
  }
}

/** Compares amounts as numbers, so that "4", "4.0" and "4.00" are equal. */
function amountAgrees(named: string, { amountMinor, exponent }: AskedFor): boolean {
  const figure = plainFigure(named);
  if (figure === null) return false;
  if (amountMinor === undefined) return true;
  if (amountMinor === null || exponent === undefined) return figure !== "0";
  return figure === plainFigure(formatMajor(amountMinor, exponent));
}

/** Returns a decimal number without leading and trailing zeros; null: the text is no number. */
function plainFigure(text: string): string | null {
  const parts = /^\+?0*(\d{1,12})(?:\.(\d{1,12}))?$/.exec(text);
  if (!parts) return null;
  const [, whole = "", fraction = ""] = parts;
  const kept = fraction.replace(/0+$/, "");
  return kept === "" ? whole : `${whole}.${kept}`;
}
