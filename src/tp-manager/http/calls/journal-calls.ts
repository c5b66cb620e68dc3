import { z } from "zod";
import { NOTE_CHARACTERS_MAX } from "../../../shared/ipc/contract.ts";
import { maskPansInText } from "../../../shared/masking/mask.ts";
import { isoTime } from "../../../shared/time.ts";
import { ORDER_ID_CHARACTERS_MAX } from "../../../shared/transaction.ts";
import { storage } from "../../attempts/failures.ts";
import {
  type AcknowledgedKind,
  acknowledgedKinds,
  type SettledUnmatched,
} from "../../attempts/findings.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import type { ListedAttempt } from "../../journal/attempt-columns.ts";
import { answerOf } from "../../orders/answer.ts";
import type { SearchPosition } from "../../orders/listings.ts";
import { instant, note, oneOf, pageLimit, wholeNumber } from "../body/input.ts";
import { type Answer, type AnyCall, type CallContext, call } from "../call.ts";
import { success } from "../envelope.ts";
import { onlyWaiting } from "./day-calls.ts";

const PAGE_MAX = 500;
const UNMATCHED_LISTED_MAX = 100;

const ARCHIVE = "archive-";

const cursorMessage = `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;
/** The schema of the position where a page of a list of payments begins, maybe in the archive. */
export const cursor = z
  .string(cursorMessage)
  .regex(new RegExp(`^(${ARCHIVE})?[1-9]\\d{0,15}$`), cursorMessage)
  .transform((text) => {
    const archived = text.startsWith(ARCHIVE);
    return { archived, before: Number(archived ? text.slice(ARCHIVE.length) : text) };
  })
  .refine(({ before }) => before <= Number.MAX_SAFE_INTEGER, cursorMessage)
  .meta({ description: "The next-cursor of the previous page." });

/** Returns the text of a cursor, which {@link cursor} reads. */
export function cursorOf({ archived, before }: SearchPosition): string {
  return `${archived ? ARCHIVE : ""}${before ?? Number.MAX_SAFE_INTEGER}`;
}

export const journalCalls: readonly AnyCall[] = [
  call({
    path: "/payments",
    reads: true,
    query: z.strictObject({
      since: instant.optional(),
      status: oneOf(paymentStatuses).optional(),
      limit: pageLimit(PAGE_MAX),
      cursor: cursor.optional(),
    }),
    document: ({ listedPayment }) => ({ answer: listedPayment, list: true }),
    /** Lists payments; one that is archived during the reading is listed twice, never left out. */
    handle({ query: { since = 0, status = null, limit, cursor }, reply }, { listings, arbiter }) {
      const { archived, before } = cursor ?? { archived: false, before: null };
      const page = { sinceMs: since, status };
      const recent = archived ? [] : listings.list({ ...page, limit, before });
      const old = listings.listArchived({
        ...page,
        limit: limit - recent.length,
        before: archived ? before : null,
      });
      if (recent.length + old.length === limit) {
        const before = [...recent, ...old].at(-1)?.position ?? null;
        void reply.header("next-cursor", cursorOf({ archived: old.length > 0, before }));
      }
      const entries = recent.map((one) => entry(one, false, arbiter));
      return [...entries, ...old.map((one) => entry(one, true, arbiter))];
    },
  }),

  call({
    path: "/unmatched-transactions",
    formerPath: "/unexpected-reports",
    reads: true,
    query: z.strictObject({ waiting: onlyWaiting }),
    document: ({ unmatchedTransaction }) => ({ answer: unmatchedTransaction, list: true }),
    handle({ query: { waiting } }, { listings, acknowledged }) {
      const listed = waiting
        ? storage(() => acknowledged.waitingUnmatched(UNMATCHED_LISTED_MAX), "no")
        : listings.unmatchedTransactions(UNMATCHED_LISTED_MAX);
      return listed.map((one) => ({
        ...viewOf(one),
        seenAt: isoTime(acknowledged.acknowledgedAtMs("unmatched", String(one.id))),
      }));
    },
  }),

  call({
    path: "/acts",
    reads: true,
    role: "operator",
    query: z.strictObject({
      limit: pageLimit(PAGE_MAX),
      cursor: wholeNumber(Number.MAX_SAFE_INTEGER, z.int().min(1)).optional(),
    }),
    document: ({ act }) => ({ answer: act, list: true }),
    handle({ query: { limit, cursor = Number.MAX_SAFE_INTEGER }, reply }, { auditEntries }) {
      const listed = storage(() => auditEntries.list(cursor, limit), "no");
      if (listed.length === limit) void reply.header("next-cursor", String(listed.at(-1)?.id));
      return listed.map(({ atMs, ...rest }) => ({ ...rest, at: isoTime(atMs) }));
    },
  }),
];

function entry(one: ListedAttempt, archived: boolean, { inquiries }: CallContext["arbiter"]) {
  const { attempt, delivery } = one;
  const untilMs = inquiries.untilMs(attempt.transactionId);
  const body = answerOf(attempt, delivery, untilMs).body as Answer<"paymentAnswer">;
  return {
    ...body,
    attempt: attempt.number,
    archived,
    startedAt: isoTime(attempt.startedAtMs),
    endedAt: isoTime(attempt.endedAtMs),
  };
}

function viewOf({ id, atMs, report, identity, finding, because, endedAtMs }: SettledUnmatched) {
  const { receiptNumber, traceNumber, amountMinor, maskedPan, cardName } = report;
  const { resultCode, authorisationNumber, localDate, localTime, receipt } = report;
  return {
    id: id as number, // each row of the journal has an id
    at: isoTime(atMs),
    finding,
    because,
    foundAt: isoTime(endedAtMs),
    receiptNumber,
    traceNumber,
    amountMinor,
    currency: receipt.currencyAlphaCode || "EUR",
    maskedPan,
    cardName,
    resultCode,
    authorisationNumber,
    localDate,
    localTime,
    terminalId: report.terminalId ?? identity.terminalId,
    serialNumber: identity.serialNumber,
  };
}

const ITEMS_MAX = 100;
/** The former name of the kind `unmatched`, which a caller may still send. */
const FORMER_KIND = "stray";

/** The call by which an operator acknowledges alarms and other items (docs/design.md 8.8). */
export const acknowledgeCalls: readonly AnyCall[] = [
  call({
    path: "/seen",
    role: "operator",
    ordersOf: ordersIn,
    body: z.strictObject({
      kind: oneOf([...acknowledgedKinds, FORMER_KIND]),
      items: z
        .array(note(ORDER_ID_CHARACTERS_MAX), "must be a list of texts")
        .min(1, "must name something")
        .max(ITEMS_MAX, `must be at most ${ITEMS_MAX}`),
      note: note(NOTE_CHARACTERS_MAX),
    }),
    document: ({ done }) => ({
      answer: z.object({ ...done, marked: z.int() }),
      errors: ["CARD_DATA_REFUSED", "STORAGE_FAILED"],
    }),
    handle({ body: { kind: asked, items, note } }, at) {
      const kind = asked === FORMER_KIND ? "unmatched" : asked;
      const marked = items.filter((item) => storage(() => mark(kind, item, note, at), "no")).length;
      const message = `${marked} of ${items.length} items no longer wait for a person.`;
      return { ...success, marked, message };
    },
  }),
];

const aboutOrders = z.object({ kind: z.enum(["charge", "return"]), items: z.array(z.unknown()) });

function ordersIn(body: unknown): string[] {
  const { items = [] } = aboutOrders.safeParse(body).data ?? {};
  return items.filter((item) => typeof item === "string");
}

/** Acknowledges one item; a charge then also counts as read by the kiosk. false: nothing waited. */
function mark(
  kind: AcknowledgedKind,
  item: string,
  note: string,
  { acknowledged, orders, clock }: CallContext,
): boolean {
  const isMarked = acknowledged.mark(kind, item, maskPansInText(note), clock.now());
  if (isMarked && kind === "charge") orders.chargeAnswered(item, true);
  return isMarked;
}
