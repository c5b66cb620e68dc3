import { z } from "zod";
import { isoTime } from "../../../shared/time.ts";
import { storage } from "../../attempts/failures.ts";
import type { AcknowledgedKind } from "../../attempts/findings.ts";
import type { PaymentStatus } from "../../attempts/phase-table.ts";
import type { Suspect } from "../../attempts/reconciliation/ledger-policy.ts";
import { answerOf } from "../../orders/answer.ts";
import type { ComparedDay } from "../../orders/listings.ts";
import { oneOf, pageLimit, wholeNumber } from "../body/input.ts";
import { type Answer, type AnyCall, type CallContext, call } from "../call.ts";

const PAGE_MAX = 500;

/** The schema of a list's query member `waiting`: `yes` lists what waits for a person only. */
export const onlyWaiting = oneOf(["yes"]).optional();

/** Returns when a person acknowledged an entry; null: nobody did. */
export function acknowledgedAtOf(
  acknowledged: CallContext["acknowledged"],
  kind: AcknowledgedKind,
  { id }: { readonly id: number | null },
): string | null {
  return id === null ? null : isoTime(acknowledged.acknowledgedAtMs(kind, String(id)));
}

/** The comparisons of terminal and gateway with the journal (docs/rules/18-totals.md). */
export const reconciliationCalls: readonly AnyCall[] = [
  call({
    path: "/reconciliation",
    reads: true,
    query: z.strictObject({
      waiting: onlyWaiting,
      limit: pageLimit(PAGE_MAX),
      cursor: wholeNumber(Number.MAX_SAFE_INTEGER, z.int().min(1)).optional(),
    }),
    document: ({ reconciliation }) => ({ answer: reconciliation, list: true }),
    handle({ query: { waiting, limit, cursor = null }, reply }, { listings, acknowledged }) {
      const listed = waiting
        ? storage(() => acknowledged.waitingDifferences(limit), "no").map((one) =>
            listings.comparedDay(one),
          )
        : listings.reconciliations(limit, cursor);
      if (!waiting && listed.length === limit)
        void reply.header("next-cursor", String(listed.at(-1)?.id));
      return listed.map((one) => reconciliationView(one, acknowledged));
    },
  }),
];

const nothing = {
  currency: null,
  terminal: null,
  journal: null,
  differenceMinor: null,
  receiptFrom: null,
  receiptTo: null,
  missing: null,
  gateway: null,
  cards: null,
};

/** Returns one comparison as `GET /reconciliation` and `/tlc` answer it. */
export function reconciliationView(
  { id, atMs, result, body, now }: ComparedDay,
  acknowledged: CallContext["acknowledged"],
): Answer<"reconciliation"> {
  const seenAt = acknowledgedAtOf(acknowledged, "difference", { id });
  const head = { id, at: isoTime(atMs), kind: body.kind, result, seenAt };
  const named = (suspects: readonly Suspect[]) =>
    suspects.map((one) => ({ ...one, now: statusOf(now, one.transactionId) }));
  if (body.kind === "receipt-jump") {
    const { from: receiptFrom, to: receiptTo, missing, suspects } = body;
    const because = "numbers are missing between two sales";
    const orders = named(suspects);
    return { ...head, because, ...nothing, receiptFrom, receiptTo, missing, orders, sole: false };
  }
  const { receiptFrom, receiptTo, gateway, cards, terminal: verdict } = body;
  const common = { ...head, because: verdict.because, ...nothing, receiptFrom, receiptTo };
  if (verdict.result === "not-comparable") {
    return { ...common, orders: [], sole: false, gateway, cards };
  }
  const { currency, terminal, journal, differenceMinor, suspects, isSole } = verdict;
  const sums = { currency, terminal, journal, differenceMinor };
  return { ...common, ...sums, orders: named(suspects), sole: isSole, gateway, cards };
}

/** Returns the current status of an order; null: the order is in the archive. */
function statusOf(now: ComparedDay["now"], transactionId: string): PaymentStatus | null {
  const attempt = now.get(transactionId);
  return attempt ? answerOf(attempt, null).body.status : null;
}
