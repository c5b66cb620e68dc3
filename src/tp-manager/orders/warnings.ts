import { formatMajor } from "../../shared/money.ts";
import { isoTime } from "../../shared/time.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import { ARCHIVED, IMPORTED } from "../attempts/rebuilt-attempt.ts";
import { BASKET_NOT_FORWARDED } from "./basket-check.ts";

/** A warning of an answer (docs/design.md 5.10), with its figures for a page that translates it. */
export interface Warning {
  readonly warning: WarningName;
  /** The sentence in `warnings`. */
  readonly says: string;
  readonly amountMinor?: number;
  /** Epoch milliseconds. */
  readonly atMs?: number;
  readonly count?: number;
}

export const warningNames = [
  "basket",
  "taken-over",
  "archived",
  "stored",
  "beyond-goods",
  "charged-late",
  "differs",
  "cancel-open",
  "refund-open",
  "totals-lack",
  "totals-hold",
  "number-missing",
  "gateway-copies",
  "gateway-failed",
] as const;
type WarningName = (typeof warningNames)[number];

/** The warnings of an order as its attempt stands now; those of the gateway come after them. */
export function warningsOf(attempt: Attempt): Warning[] {
  return [
    ...attempt.request.warnings.map(ofRequest),
    ...ofGoods(attempt),
    ...ofLateSale(attempt),
    ...ofDifference(attempt),
    ...ofOpenReturn(attempt),
    ...ofSuspicion(attempt),
  ];
}

/** A warning that is stored with the request as a sentence. */
function ofRequest(says: string): Warning {
  if (says === IMPORTED) return { warning: "taken-over", says };
  if (says === ARCHIVED) return { warning: "archived", says };
  return { warning: says.startsWith(BASKET_NOT_FORWARDED) ? "basket" : "stored", says };
}

/** Recovery found the whole amount charged although fewer goods came out (docs/design.md 5.12). */
function ofGoods({ state, request: { currency } }: Attempt): Warning[] {
  if (!isCharged(state) || state.goodsMinor === undefined) return [];
  const major = (minor: number): string => formatMajor(minor, currency.exponent);
  const charged = major(state.report.amountMinor ?? 0);
  const goods = major(state.goodsMinor);
  const says = `charged ${charged} although the goods that came out are worth ${goods}`;
  return [{ warning: "beyond-goods", says, amountMinor: state.goodsMinor }];
}

/** The order had been answered as not charged (docs/rules/19-late.md). */
function ofLateSale({ state }: Attempt): Warning[] {
  if (!isCharged(state) || !state.late) return [];
  const says =
    "charged although it was answered as not charged: the terminal reported the sale late";
  return [{ warning: "charged-late", says }];
}

/** The terminal changed data of the request, and charged (docs/rules/25-one-way.md). */
function ofDifference({ state }: Attempt): Warning[] {
  const differs = isCharged(state) ? (state.report.differs ?? []) : [];
  return differs.map((member) => ({
    warning: "differs",
    says: `the terminal answered with another ${member} than was sent`,
  }));
}

/** A return that may have happened leaves the order charged (docs/rules/23-asked.md). */
function ofOpenReturn({ openReturn, request: { currency } }: Attempt): Warning[] {
  if (!openReturn) return [];
  const { kind, amountMinor } = openReturn;
  const major = formatMajor(amountMinor, currency.exponent);
  const says = `what became of a ${kind} of ${major} at the gateway is not known`;
  return [{ warning: `${kind}-open`, says, amountMinor }];
}

/** A comparison that contradicts this answer; none where the order was settled since. */
function ofSuspicion({ state, suspicion, request: { currency } }: Attempt): Warning[] {
  if (!suspicion) return [];
  const { says: finding, amountMinor, atMs } = suspicion;
  const amount = `${formatMajor(amountMinor, currency.exponent)} ${currency.alpha}`;
  const where = "see GET /reconciliation";
  if ((finding === "not-charged") !== isCharged(state)) return [];
  const totals = `the terminal's totals of ${isoTime(atMs)}`;
  if (finding === "not-charged") {
    const says = `${totals} lack ${amount}: perhaps not charged; ${where}`;
    return [{ warning: "totals-lack", says, amountMinor, atMs }];
  }
  if (finding === "charged") {
    const says = `${totals} hold ${amount} more: perhaps charged; ${where}`;
    return [{ warning: "totals-hold", says, amountMinor, atMs }];
  }
  const says = `a receipt number is missing after this payment: perhaps charged; ${where}`;
  return [{ warning: "number-missing", says }];
}
