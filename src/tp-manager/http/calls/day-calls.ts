import { z } from "zod";
import { type Clock, isoTime, localTimeZone, sleep } from "../../../shared/time.ts";
import { storage } from "../../attempts/failures.ts";
import type { ClosingOfDay } from "../../journal/operator-rows.ts";
import { DayFigures, middleOf, successShareOf } from "../../orders/day-figures.ts";
import type { Listings } from "../../orders/listings.ts";
import { fault, judged } from "../body/input.ts";
import { type AnyCall, type CallContext, call } from "../call.ts";
import { reconciliationView } from "./reconciliation-calls.ts";

/** How many attempts are read at once: a payment that begins meanwhile waits so long. */
const PAGE = 200;
/** The most attempts of a day that are added up: one every four seconds. */
const ATTEMPTS_MAX = 20_000;

const date = judged(z.iso.date(), "must be a date like 2026-01-31");

/** The figures of a day, for the operator. */
export const dayCalls: readonly AnyCall[] = [
  call({
    path: "/day",
    reads: true,
    query: z.strictObject({ date: date.optional() }),
    document: ({ day }) => ({ answer: day, errors: ["STORAGE_FAILED"] }),
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
  if (year < 1970) throw fault("date", "must be a date like 2026-01-31");
  const beginOf = (date: number) => new Date(year, at.getMonth(), date).getTime();
  return { fromMs: beginOf(at.getDate()), untilMs: beginOf(at.getDate() + 1) };
}

function dateOf(ms: number): string {
  const at = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Adds attempts to the figures, page by page. False: more than {@link ATTEMPTS_MAX} were left. */
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

function closingView(closing: ClosingOfDay, { listings, acknowledged }: CallContext) {
  const { startedAtMs, endedAtMs, askedBy, end, reconciliation } = closing;
  return {
    startedAt: isoTime(startedAtMs),
    endedAt: isoTime(endedAtMs),
    askedBy,
    end: end?.end ?? null,
    text: end && "text" in end ? end.text : "",
    applications: end?.end === "completed" ? end.applications : [],
    ticket: end?.end === "completed" ? end.ticket : "",
    reconciliation:
      reconciliation && reconciliationView(listings.comparedDay(reconciliation), acknowledged),
  };
}
