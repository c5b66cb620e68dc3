import { z } from "zod";
import { majorOf } from "../../../shared/money.ts";
import { DAY_MS, isoTime } from "../../../shared/time.ts";
import { type Attempt, returnableMinorOf } from "../../attempts/payment.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { answerOf, type Warning } from "../../orders/answer.ts";
import { cardOf, searchPayments } from "../../orders/listings.ts";
import type { FoundOrder } from "../../orders/orders.ts";
import { possibleSettlement } from "../../orders/settlement.ts";
import type { TransactionReport } from "../../terminal/terminal.ts";
import { instant, judged, oneOf, pageLimit } from "../body/input.ts";
import { type AnyCall, type CallContext, call, mayCall } from "../call.ts";
import { lookedUp } from "../looked-up.ts";
import { actionsOf, pathOfAction } from "../order-actions.ts";
import { gatewayCalls } from "./gateway-calls.ts";
import { cursor, cursorOf } from "./journal-calls.ts";
import { params, paymentCalls } from "./payment-calls.ts";

const PAGE_MAX = 100;
const ORDER_PART_MAX = 100;
const DAYS_DEFAULT = 7;

const amountForm = /^\d{1,8}(\.\d{1,4})?$/;
const amount = judged(z.string().regex(amountForm), "must be an amount like 9.99").transform(
  Number,
);
const card = judged(z.string().regex(/^\d{2,4}$/), "must be the last 2 to 4 digits of a card");
const orderPart = judged(
  z.string().min(1).max(ORDER_PART_MAX),
  `must be a text of 1 to ${ORDER_PART_MAX} characters`,
);

const acting = [...paymentCalls, ...gatewayCalls];

/** The operator's search and timeline: neither marks an answer as read (docs/design.md 5.17). */
export const timelineCalls: readonly AnyCall[] = [
  call({
    path: "/payments/search",
    reads: true,
    query: z.strictObject({
      from: instant.optional(),
      until: instant.optional(),
      order: orderPart.optional(),
      amount: amount.optional(),
      card: card.optional(),
      status: oneOf(paymentStatuses).optional(),
      limit: pageLimit(PAGE_MAX),
      cursor: cursor.optional(),
    }),
    document: ({ search }) => ({ answer: search }),
    handle({ query }, { listings, clock }) {
      const untilMs = query.until ?? clock.now() + 1;
      const { found, next, searchedToMs } = searchPayments(listings, {
        ...query,
        fromMs: query.from ?? Math.max(0, untilMs - DAYS_DEFAULT * DAY_MS),
        untilMs,
        position: query.cursor ?? { archived: false, before: null },
      });
      return {
        payments: found.map((one) => ({
          ...shortOf(one.attempt),
          archived: one.archived,
          notificationGatewaySent: one.delivery === "sent",
        })),
        next: next && cursorOf(next),
        searchedTo: isoTime(searchedToMs),
      };
    },
  }),

  call({
    path: "/story/{orderId}",
    reads: true,
    params,
    document: ({ timeline }) => ({
      answer: timeline,
      errors: ["ORDER_NOT_FOUND", "PAYMENT_RUNNING", "STORES_DISAGREE", "TERMINAL_IN_DOUBT"],
    }),
    async handle({ params: { orderId }, request }, at) {
      const { body, found, warnings } = await lookedUp(at, orderId);
      const { attempt } = found;
      const settlement = settlementNow(at, found);
      const refused = refusedBy(at, found, settlement);
      const may = actionsOf(attempt, refused, body.gateway?.state).filter((act) => {
        const record = acting.find(({ path }) => path === pathOfAction[act]);
        return record !== undefined && mayCall(record, request.role, at.hasOperator);
      });
      return {
        ...body,
        card: maskedCardOf(found),
        delivery: found.delivery,
        notes: warnings.map((one) => noteOf(one, attempt)),
        refundable: may.includes("refund")
          ? majorOf(returnableMinorOf(attempt) - attempt.returnedMinor, attempt.request.currency)
          : null,
        may,
        settlement,
      };
    },
  }),
];

function settlementNow(at: CallContext, { attempt: { request } }: FoundOrder) {
  const possible = possibleSettlement(at, request.orderId);
  if (!possible) return null;
  const { attempt, outcomes, amountsMinor, runsForMs } = possible;
  return {
    attempt,
    outcomes,
    amounts: amountsMinor.map((amountMinor) => majorOf(amountMinor, request.currency)),
    from: runsForMs > 0 ? isoTime(at.clock.now() + runsForMs) : null,
  };
}

/** Returns which actions would be refused now, whatever the order's phase. */
function refusedBy(
  { afterSale }: CallContext,
  { attempt, attempts }: FoundOrder,
  settlement: ReturnType<typeof settlementNow>,
) {
  const own = attempts.find(({ transactionId }) => transactionId === attempt.transactionId);
  return {
    reversal: afterSale.lacksReversal(attempt, own?.events ?? []),
    settlement: settlement === null || settlement.from !== null,
  };
}

function noteOf({ warning, says, amountMinor, atMs, count }: Warning, { request }: Attempt) {
  const amount = amountMinor === undefined ? null : majorOf(amountMinor, request.currency);
  return { note: warning, says, amount, at: isoTime(atMs ?? null), count: count ?? null };
}

/** Returns an order's masked card number, even of a declined payment; null: none is known. */
function maskedCardOf({ attempt, attempts }: FoundOrder): string | null {
  const own = attempts.find((one) => one.transactionId === attempt.transactionId);
  const events = own?.events ?? [];
  const report = events.findLast(({ detail }) => "report" in detail)?.detail["report"];
  return cardOf(attempt) ?? (report as TransactionReport | undefined)?.maskedPan ?? null;
}

function shortOf(attempt: Attempt) {
  const { status, error, amount, chargedAmount, currency, orderId, transactionId, warnings } =
    answerOf(attempt, null).body;
  return {
    orderId,
    transactionId,
    attempt: attempt.number,
    status,
    error: error?.code ?? null,
    amount,
    chargedAmount,
    currency,
    card: cardOf(attempt),
    warnings,
    startedAt: isoTime(attempt.startedAtMs),
    endedAt: isoTime(attempt.endedAtMs),
  };
}
