import { z } from "zod";
import { isoTime } from "../../../shared/time.ts";
import { storage } from "../../attempts/failures.ts";
import type { SettledUnmatched } from "../../attempts/findings.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import type { ListedAttempt } from "../../journal/attempt-columns.ts";
import { answerOf } from "../../orders/answer.ts";
import type { SearchPosition } from "../../orders/listings.ts";
import { instant, oneOf, pageLimit, wholeNumber } from "../body/input.ts";
import { type Answer, type AnyCall, call } from "../call.ts";
import { acknowledgedAtOf, onlyWaiting } from "./reconciliation-calls.ts";

const PAGE_MAX = 500;
const UNMATCHED_LISTED_MAX = 100;

/** Of a cursor that continues in the archive. */
const ARCHIVE = "archive-";

const cursorMessage = `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;
/** A place in the listing of attempts, which goes on in the archive. */
export const cursor = z
  .string(cursorMessage)
  .regex(new RegExp(`^(${ARCHIVE})?[1-9]\\d{0,15}$`), cursorMessage)
  .transform((text) => {
    const archived = text.startsWith(ARCHIVE);
    return { archived, before: Number(archived ? text.slice(ARCHIVE.length) : text) };
  })
  .refine(({ before }) => before <= Number.MAX_SAFE_INTEGER, cursorMessage)
  .meta({ description: "The next-cursor of the page before." });

/** A place as {@link cursor} reads it. */
export function cursorOf({ archived, before }: SearchPosition): string {
  return `${archived ? ARCHIVE : ""}${before ?? Number.MAX_SAFE_INTEGER}`;
}

/** The journal for operators: what happened. */
export const journalCalls: readonly AnyCall[] = [
  call({
    path: "/payments",
    reads: true,
    summary: "The journal, newest first",
    description:
      "Those in the archive come last. The header next-cursor continues after a full page.",
    query: z.strictObject({
      since: instant
        .optional()
        .describe("A time like 2026-01-31T00:00:00Z; a date is its midnight in UTC."),
      status: oneOf(paymentStatuses).optional().describe("Only attempts with this status."),
      limit: pageLimit(PAGE_MAX),
      cursor: cursor.optional(),
    }),
    document: ({ listedPayment }) => ({ answer: listedPayment, list: true, errors: [] }),
    /** An attempt that is put away meanwhile may be listed twice, never not. */
    handle({ query: { since = 0, status = null, limit, cursor }, reply }, { listings }) {
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
      return [...recent.map((one) => entry(one, false)), ...old.map((one) => entry(one, true))];
    },
  }),

  call({
    path: "/unmatched-transactions",
    formerPath: "/unexpected-reports",
    reads: true,
    summary: "Unmatched transactions of the terminal, newest first",
    description:
      "Reported or found, and of no order for certain; the terminal was asked whether it keeps " +
      "them. " +
      `The newest ${UNMATCHED_LISTED_MAX}, masked. Each raised the alarm unmatched-transaction, ` +
      "and raised it again when it was found held or unclear. Such a one waits for a person " +
      "until POST /seen.",
    query: z.strictObject({ waiting: onlyWaiting }),
    document: ({ unmatchedTransaction }) => ({
      answer: unmatchedTransaction,
      list: true,
      errors: [],
    }),
    handle({ query: { waiting } }, { listings, acknowledged }) {
      const listed = waiting
        ? storage(() => acknowledged.waitingUnmatched(UNMATCHED_LISTED_MAX), "no")
        : listings.unmatchedTransactions(UNMATCHED_LISTED_MAX);
      return listed.map((one) => ({
        ...viewOf(one),
        seenAt: acknowledgedAtOf(acknowledged, "unmatched", one),
      }));
    },
  }),

  call({
    path: "/acts",
    reads: true,
    role: "operator",
    summary: "What people did at the operator's console, newest first",
    description:
      "Each with login, name, reason, the call and its body; `http` is the status of the answer, " +
      "null while it runs or when its end was not kept, and `code` that of its error. " +
      "The header next-cursor continues after a full page.",
    query: z.strictObject({
      limit: pageLimit(PAGE_MAX),
      cursor: wholeNumber(Number.MAX_SAFE_INTEGER, z.int().min(1))
        .optional()
        .describe("The next-cursor of the page before."),
    }),
    document: ({ act }) => ({ answer: act, list: true, errors: ["STORAGE_FAILED"] }),
    handle({ query: { limit, cursor = Number.MAX_SAFE_INTEGER }, reply }, { auditEntries }) {
      const listed = storage(() => auditEntries.list(cursor, limit), "no");
      if (listed.length === limit) void reply.header("next-cursor", String(listed.at(-1)?.id));
      return listed.map(({ atMs, ...rest }) => ({ ...rest, at: isoTime(atMs) }));
    },
  }),
];

function entry({ attempt, delivery }: ListedAttempt, archived: boolean): Answer<"listedPayment"> {
  const body = answerOf(attempt, delivery).body as Answer<"paymentAnswer">;
  return {
    ...body,
    attempt: attempt.number,
    archived,
    startedAt: isoTime(attempt.startedAtMs),
    endedAt: isoTime(attempt.endedAtMs),
  };
}

/** An unmatched transaction (docs/rules/04-approval.md). */
function viewOf({ id, atMs, report, identity, finding, because, endedAtMs }: SettledUnmatched) {
  const { receiptNumber, traceNumber, amountMinor, maskedPan, cardName } = report;
  const { resultCode, authorisationNumber, localDate, localTime, receipt } = report;
  return {
    id: id as number, // each row of the journal has one
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
