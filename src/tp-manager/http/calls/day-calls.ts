import { z } from "zod";
import { type Clock, isoTime, localTimeZone, sleep } from "../../../shared/time.ts";
import { invalid, storage } from "../../attempts/failures.ts";
import type { Attempt } from "../../attempts/payment.ts";
import type { PaymentStatus } from "../../attempts/phase-table.ts";
import type { Suspect } from "../../attempts/reconciliation/ledger-policy.ts";
import type { Reconciliation } from "../../attempts/reconciliation/reconciliation-policy.ts";
import type { ClosingOfDay } from "../../journal/operator-rows.ts";
import { answerOf } from "../../orders/answer.ts";
import { DayFigures, middleOf, successShareOf } from "../../orders/day-figures.ts";
import type { Listings } from "../../orders/listings.ts";
import { judged, oneOf, pageLimit, wholeNumber } from "../body/input.ts";
import { type Answer, type AnyCall, type CallContext, call } from "../call.ts";

const PAGE_MAX = 500;

/** The schema of a list's query member `waiting`: `yes` lists only what waits for a person. */
export const onlyWaiting = oneOf(["yes"]).optional();

/** The call that lists comparisons of the terminal's and our totals (docs/rules/18-totals.md). */
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
    handle({ query: { waiting, limit, cursor = null }, reply }, at) {
      const listed = waiting
        ? storage(() => at.acknowledged.waitingDifferences(limit), "no")
        : at.listings.reconciliations(limit, cursor);
      if (!waiting && listed.length === limit)
        void reply.header("next-cursor", String(listed.at(-1)?.id));
      return listed.map((one) => reconciliationView(one, at));
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
  { id, atMs, result, body }: Reconciliation,
  { listings, acknowledged }: CallContext,
): Answer<"reconciliation"> {
  const seenAt = isoTime(acknowledged.acknowledgedAtMs("difference", String(id)));
  const head = { id, at: isoTime(atMs), kind: body.kind, result, seenAt };
  const named = (suspects: readonly Suspect[]) =>
    suspects.map((one) => ({ ...one, now: statusOf(listings.attempt(one.transactionId)) }));
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

/** Returns the current status of a compared order; null: the order is in the archive. */
function statusOf(attempt: Attempt | undefined): PaymentStatus | null {
  return attempt ? answerOf(attempt, null).body.status : null;
}

/** How many attempts are read at once; a payment that begins meanwhile waits for the reading. */
const PAGE = 200;
/** The most attempts of a day that are added up: about one payment every four seconds. */
const ATTEMPTS_MAX = 20_000;

const date = judged(z.iso.date(), "must be a date like 2026-01-31");

export const dayCalls: readonly AnyCall[] = [
  call({
    path: "/day",
    reads: true,
    query: z.strictObject({ date: date.optional() }),
    document: ({ day }) => ({ answer: day }),
    async handle({ query }, at) {
      const { listings, days, hours, clock } = at;
      const { fromMs, untilMs } = rangeOf(query.date, clock);
      const figures = new DayFigures(fromMs, untilMs);
      const complete = await addAll(figures, listings, clock, { sinceMs: fromMs, untilMs });
      const read = storage(
        () => ({ hours: hours.hours(fromMs, untilMs), closings: days.closings(fromMs, untilMs) }),
        "unknown",
      );
      const { counts } = figures;
      return {
        date: dateOf(fromMs),
        timeZone: localTimeZone(),
        from: isoTime(fromMs),
        until: isoTime(untilMs),
        complete,
        counts,
        successShare: successShareOf(counts),
        sums: figures.sums,
        hours: figures.hours(read.hours).map(hourView),
        endsOfDay: read.closings.map((one) => closingView(one, at)),
      };
    },
  }),
];

/** Returns begin and end of a day on the kiosk's clock. Throws for a date before 1970. */
function rangeOf(given: string | undefined, clock: Clock): { fromMs: number; untilMs: number } {
  const at = new Date(given === undefined ? clock.now() : `${given}T00:00`);
  const year = at.getFullYear();
  if (year < 1970) throw invalid("date", "must be a date like 2026-01-31");
  const beginOf = (date: number) => new Date(year, at.getMonth(), date).getTime();
  return { fromMs: beginOf(at.getDate()), untilMs: beginOf(at.getDate() + 1) };
}

function dateOf(ms: number): string {
  const at = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Adds attempts to the figures, page by page. Returns false if {@link ATTEMPTS_MAX} ends it. */
async function addAll(
  figures: DayFigures,
  listings: Listings,
  clock: Clock,
  range: { readonly sinceMs: number; readonly untilMs: number },
): Promise<boolean> {
  let left = ATTEMPTS_MAX;
  for (const list of ["list", "listArchived"] as const) {
    let before: number | null = null;
    for (;;) {
      const page = { ...range, status: null, limit: PAGE, before };
      const listed: ReturnType<Listings["list"]> = listings[list](page);
      for (const { attempt } of listed) figures.add(attempt);
      if (listed.length < PAGE) break;
      left -= listed.length;
      if (left <= 0) return false;
      before = listed.at(-1)?.position ?? null;
      await sleep(clock, "day figures", 0);
    }
  }
  return true;
}

function hourView(hour: ReturnType<DayFigures["hours"]>[number]) {
  const { counts, durations, watched } = hour;
  const seconds = (ms: number | null | undefined): number | null =>
    typeof ms === "number" ? Math.round(ms / 100) / 10 : null;
  return {
    from: isoTime(hour.fromMs),
    counts,
    medianSeconds: seconds(middleOf(durations)),
    longestSeconds: seconds(durations.at(-1)),
    readySeconds: seconds(watched?.readyMs),
    refusingSeconds: seconds(watched?.refusingMs),
    noLinkSeconds: seconds(watched?.noLinkMs),
    waitingMax: watched?.waitingMax ?? null,
  };
}

function closingView(closing: ClosingOfDay, at: CallContext) {
  const { startedAtMs, endedAtMs, askedBy, end, reconciliation } = closing;
  return {
    startedAt: isoTime(startedAtMs),
    endedAt: isoTime(endedAtMs),
    askedBy,
    end: end?.end ?? null,
    text: end && "text" in end ? end.text : "",
    applications: end?.end === "completed" ? end.applications : [],
    ticket: end?.end === "completed" ? end.ticket : "",
    reconciliation: reconciliation && reconciliationView(reconciliation, at),
  };
}
