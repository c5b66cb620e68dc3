/** Puts the traces of both programs and the moments of the bench together to one payment. */
import { type Frame, IDLE, type ProgramTrace, type Slice, type Span, within } from "./trace.ts";

export const programs = ["tp-manager", "supervisor"] as const;
export type Program = (typeof programs)[number];
export type Lane = "kiosk" | "terminal" | "gateway" | Program;

/** Something that one of those who take part in a payment did. */
export interface Moment {
  readonly us: number;
  readonly lane: Lane;
  readonly what: keyof typeof endings;
  /** The message that was sent or came. */
  readonly message?: string;
}

/** What a step of a payment was for, by the moment that ends it. */
const endings = {
  post: "",
  request: "the request arrives",
  heard: "the message arrives",
  sent: "the terminal sends",
  answered: "the gateway answers",
  "write terminal": "until it sends",
  "write hop": "until its message to the other program",
  "write gateway": "until it sends the order",
  "write kiosk": "until it answers",
  "read hop": "the other program's answer arrives",
  commit: "until its commit",
  synced: "commit",
  answer: "the answer arrives",
};

export interface Payment {
  readonly postUs: number;
  readonly answerUs: number;
  /** The end of the time after the answer that counts as part of this payment. */
  readonly untilUs: number;
}

export type Wait = "terminal" | "gateway" | "socket" | "disk";

export interface Step {
  readonly name: string;
  readonly lane: Lane;
  readonly fromUs: number;
  readonly toUs: number;
  /** What happened one after the other; each is processor time of the lane, or a wait. */
  readonly parts: ReadonlyArray<Slice | { readonly wait: Wait; readonly us: number }>;
  /** What the programs did although the payment did not wait for it. */
  readonly meanwhile: ReadonlyArray<Slice & { readonly program: Program }>;
}

export type Traces = Readonly<Record<Program, ProgramTrace>>;

interface Chosen {
  readonly payment: Payment;
  readonly path: readonly Moment[];
}

interface Waterfall {
  readonly steps: readonly Step[];
  readonly payments: readonly Payment[];
  /** The part of the payments that went through the same moments in the same order. */
  readonly share: number;
}

/** The payments near the median: the middle two fifths by the time from the POST to the answer. */
const [MIDDLE_FROM, MIDDLE_TO] = [0.3, 0.7];

/**
 * Returns the steps of the payments near the median, each with the mean of its times, so that the
 * steps add up. Only payments with the most frequent order of moments are used.
 */
export function waterfallOf(
  payments: readonly Payment[],
  moments: readonly Moment[],
  traces: Traces,
): Waterfall {
  const sorted = moments.toSorted((a, b) => a.us - b.us);
  const all = payments.map((payment): Chosen => ({ payment, path: pathOf(payment, sorted) }));
  const alike = [...Map.groupBy(all, ({ path }) => path.map(keyOf).join()).values()];
  const most = alike.toSorted((a, b) => b.length - a.length)[0] ?? [];
  const byTime = most.toSorted((a, b) => timeOf(a.payment) - timeOf(b.payment));
  const [from, to] = [MIDDLE_FROM, MIDDLE_TO].map((part) => Math.round(byTime.length * part));
  const chosen = byTime.slice(from, Math.max(to ?? 0, (from ?? 0) + 1));
  const steps: Step[] = [];
  const [first] = chosen;
  for (let i = 1; first && i < first.path.length; i++) {
    const fromUs = steps.at(-1)?.toUs ?? 0;
    steps.push(stepOf(chosen, i, fromUs, traces, namesOf(first, sorted)));
  }
  const share = most.length / all.length;
  return { steps, payments: chosen.map(({ payment }) => payment), share };
}

function timeOf({ postUs, answerUs }: Payment): number {
  return answerUs - postUs;
}

function keyOf({ lane, what }: Moment): string {
  return `${lane} ${what}`;
}

/** When a message arrives at the terminal is not on the path: it is known from what it sends. */
function pathOf({ postUs, answerUs }: Payment, sorted: readonly Moment[]): Moment[] {
  const between = within(sorted, postUs, answerUs, ({ us }) => us);
  return [
    { us: postUs, lane: "kiosk", what: "post" },
    ...between.filter(({ what }) => what !== "heard"),
    { us: answerUs, lane: "kiosk", what: "answer" },
  ];
}

/** Returns the name of each step of a payment, at the index of the moment that ends it. */
function namesOf({ payment, path }: Chosen, sorted: readonly Moment[]): string[] {
  const heard = within(sorted, payment.postUs, payment.answerUs, ({ us }) => us).filter(
    ({ what }) => what === "heard",
  );
  return path.map(({ us, lane, what, message }) => {
    const sent = what === "write terminal" ? heard.find((one) => one.us >= us)?.message : message;
    return `${lane}: ${endings[what]}${sent === undefined ? "" : ` ${sent}`}`;
  });
}

function stepOf(
  chosen: readonly Chosen[],
  i: number,
  fromUs: number,
  traces: Traces,
  names: readonly string[],
): Step {
  const spans = chosen.map(({ path }): Span => [path[i - 1]?.us ?? 0, path[i]?.us ?? 0]);
  const us = spans.reduce((sum, [from, to]) => sum + to - from, 0) / spans.length;
  const end = chosen[0]?.path[i];
  const lane = end?.lane ?? "kiosk";
  const parts: Array<Step["parts"][number]> = [];
  const meanwhile: Array<Step["meanwhile"][number]> = [];
  for (const program of programs) {
    const { slices, diskUs } = traces[program].spent(spans);
    if (lane !== program) {
      const working = filesOf(slices).filter(isWork);
      meanwhile.push(...working.map((slice) => ({ ...slice, program })));
      continue;
    }
    for (const slice of filesOf(slices)) {
      parts.push(isWork(slice) ? slice : { wait: "socket", us: slice.us });
    }
    if (diskUs > 0) parts.push({ wait: "disk", us: diskUs });
  }
  if (lane === "terminal" || lane === "gateway") parts.push({ wait: lane, us });
  if (lane === "kiosk") parts.push({ wait: "socket", us });
  return { name: names[i] ?? "", lane, fromUs, toUs: fromUs + us, parts, meanwhile };
}

/** Returns one slice for each file, in the order of the mean moments at which they ran. */
export function filesOf(slices: readonly Slice[]): Slice[] {
  const byFile = [...Map.groupBy(slices, ({ frame }) => frame.file)].map(([file, own]): Slice => {
    const us = own.reduce((sum, one) => sum + one.us, 0);
    const at = own.reduce((sum, one) => sum + one.at * one.us, 0) / (us || 1);
    return { frame: { file, name: "", owner: file }, us, at };
  });
  return byFile.toSorted((a, b) => a.at - b.at);
}

/** Whether something ran, and the thread did not only wait for the event loop. */
export function isWork({ frame }: Slice): boolean {
  return frame.file !== IDLE;
}

export const columns = ["before", "after", "later"] as const;
type Column = (typeof columns)[number];

/** Spans of payments: up to the answer, at once after it, or when the programs were idle again. */
export interface Spent {
  readonly column: Column;
  readonly spans: readonly Span[];
  readonly traces: Traces;
}

export interface Row {
  readonly program: Program;
  readonly name: string;
  /** Microseconds of a payment, in each of the columns. */
  readonly us: Record<Column, number>;
}

/** Returns the processor time of a payment by what `nameOf` says of a frame, the largest first. */
export function rowsOf(spent: readonly Spent[], nameOf: (frame: Frame) => string): Row[] {
  const rows = new Map<string, Row>();
  for (const { column, spans, traces } of spent) {
    for (const program of programs) {
      for (const { frame, us } of traces[program].spent(spans).slices.filter(isWork)) {
        const name = nameOf(frame);
        const key = `${program} ${name}`;
        const row = rows.get(key) ?? { program, name, us: { before: 0, after: 0, later: 0 } };
        row.us[column] += us;
        rows.set(key, row);
      }
    }
  }
  const sum = ({ us }: Row): number => us.before + us.after;
  return [...rows.values()].toSorted((a, b) => b.us.before - a.us.before || sum(b) - sum(a));
}
