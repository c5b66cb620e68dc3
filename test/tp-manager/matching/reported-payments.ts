import { type Answer, candidatesIn } from "../../../src/tp-manager/matching/answer.ts";
import type {
  LastTransaction,
  PaymentEnd,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, pay, request } from "../../support/house/payment-house.ts";
import { baseline, report } from "../../support/terminals/reports.ts";
import type { PayScript } from "../../support/terminals/scripted-terminal.ts";

export const HOUR_MS = 3_600_000;
export const notReported: LastTransaction = { kind: "not-told", why: "it refuses" };
export const untimed = { localDate: null, localTime: null } as const;
/** A current sale that nothing has reported yet. */
export const fresh = report({
  receiptNumber: "0003",
  traceNumber: "000013",
  localTime: "130040",
});

/** The answer of the matcher as a short text. */
export function textOf(answer: Answer): string {
  const orders = candidatesIn(answer).map(
    ({
      attempt: {
        request: { orderId },
      },
      as,
    }) => (as === "sale" ? orderId : `${orderId} reversed`),
  );
  switch (answer.answer) {
    case "known":
      return `known ${answer.orderId}${answer.isCertain ? "" : "?"}`;
    case "one":
      return `one ${orders.join()}`;
    case "many":
      return `many ${orders.join(" ")}: ${answer.why}`;
    case "none":
      return ["none", ...answer.near.map(({ attempt }) => attempt.request.orderId)].join(" ");
  }
}

interface PaymentReports {
  readonly reports?: readonly TransactionReport[];
  /** What the terminal had stored before the payment. */
  readonly before?: LastTransaction;
  readonly change?: { readonly amountMinor?: number };
}

/** Pays an order with the given reports and this end. Returns the answer to each report. */
export async function ends(
  at: House,
  orderId: string,
  end: PaymentEnd,
  { reports = [], before = baseline.last, change = {} }: PaymentReports = {},
): Promise<string[]> {
  at.terminal.baseline = { ...baseline, last: before };
  const answers: string[] = [];
  const script: PayScript = (_order, observer) => {
    for (const each of reports) answers.push(observer.report(each));
    return Promise.resolve(end);
  };
  at.terminal.script = script;
  at.terminal.last = notReported;
  await pay(at, request(orderId, change));
  return answers;
}

export async function sells(at: House, orderId: string, sale = report(), before?: LastTransaction) {
  const given = { reports: [sale], ...(before ? { before } : {}) };
  await ends(at, orderId, { end: "completed", ticket: "" }, given);
}

export const stored = (record: TransactionReport): LastTransaction => ({
  kind: "transaction",
  report: record,
});
