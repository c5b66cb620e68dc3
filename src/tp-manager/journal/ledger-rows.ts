import type { Currency } from "../../shared/money.ts";
import { type Attempt, isNeverSent, saleOf } from "../attempts/payment.ts";
import {
  type KeptEnd,
  ledgerOutcomeOf,
  returnedOfKept,
  stateOfKept,
} from "../attempts/rebuilt-attempt.ts";
import type { KeptLedger, LedgerEntry } from "../attempts/reconciliation/reconciliation.ts";
import { readAttempt, readJson, returnedOf } from "./attempt-columns.ts";
import type { Row, Statement } from "./database/statements.ts";

/** The facts that the archive keeps of an attempt, next to its order, amount and ids. */
export interface Kept {
  /** Left out where no end of day can be compared with it any more (docs/rules/18-totals.md). */
  readonly ledger?: KeptLedger;
  /** Whole: a currency that is abolished one day must still be readable. */
  readonly currency: Currency;
  readonly end: KeptEnd;
}

/** A step of an attempt that charged nothing; `minor`: the amount in its detail. */
interface SpokenOf {
  readonly kind: string;
  readonly minor: unknown;
}

export const spokenOf = `SELECT kind, ifnull(json_extract(detail, '$.report.amountMinor'),
    json_extract(detail, '$.amountMinor')) AS minor
  FROM attempt_event WHERE transaction_id = ?`;

/** A row of `attempt` joined with its `hand_off`, as a comparison needs it. */
export function entryOf(row: Row, spoken: Statement): LedgerEntry {
  const attempt = readAttempt(row);
  const { state, request } = attempt;
  const sale = saleOf(state);
  const steps = sale ? [] : spoken.all<SpokenOf>(attempt.transactionId);
  return {
    transactionId: attempt.transactionId,
    orderId: request.orderId,
    afterClosing: Number(row["after_telecollection"]),
    ...ledgerOutcomeOf(state, request.amountMinor),
    wasSent: attempt.baseline !== null && !isNeverSent(steps),
    amountMinor: request.amountMinor,
    possibleMinor: amountsOf(attempt, steps),
    currency: request.currency.alpha,
    exponent: request.currency.exponent,
    cardName: sale?.report.cardName ?? null,
    identity: attempt.baseline?.identity ?? null,
    delivery: (row["delivery"] ?? null) as LedgerEntry["delivery"],
    handedMinor: row["handed_minor"] === null ? null : Number(row["handed_minor"]),
    returnedMinor: returnedOf(row),
  };
}

function amountsOf({ request }: Attempt, steps: readonly SpokenOf[]): number[] {
  const spoken = steps.flatMap(({ minor }) => (typeof minor === "number" ? minor : []));
  return [...new Set([request.amountMinor, ...spoken])].filter((minor) => minor > 0);
}

export function keptLedgerOf(entry: LedgerEntry): KeptLedger {
  const { wasSent, possibleMinor, cardName, receiptNumber, reversalReceipt, identity } = entry;
  return { wasSent, possibleMinor, cardName, receiptNumber, reversalReceipt, identity };
}

/** A row of `archived_order` that kept its ledger. */
export function archivedEntryOf(row: Row): LedgerEntry {
  const { currency, end, ledger } = readJson<Required<Kept>>(row["kept"]);
  const amountMinor = Number(row["amount_minor"]);
  return {
    transactionId: String(row["transaction_id"]),
    orderId: String(row["order_id"]),
    afterClosing: Number(row["after_telecollection"]),
    ...ledgerOutcomeOf(stateOfKept(end, currency), amountMinor),
    amountMinor,
    currency: currency.alpha,
    exponent: currency.exponent,
    delivery: (row["delivery"] ?? null) as LedgerEntry["delivery"],
    handedMinor: null,
    returnedMinor: returnedOfKept(end),
    ...ledger,
  };
}
