/** Draws a payment as a picture (SVG) that is readable in light and dark. */
import type { Slice } from "./trace.ts";
import {
  filesOf,
  isWork,
  type Lane,
  type Payment,
  programs,
  type Step,
  type Traces,
  type Wait,
} from "./waterfall.ts";

/** Sizes in pixels. */
const WIDTH = 1440;
const CHART_X = 340;
const CHART_WIDTH = 590;
const TEXT_X = CHART_X + CHART_WIDTH + 16;
const ROW = 19;
const BAR = 9;
const THIN_BAR = 3;
const HEAD = 132;
/** A slice that is thinner is drawn as wide as this, and one of an eighth of it is left out. */
const SLICE_MIN = 0.4;
/** The files of a step that its line names. */
const NAMED = 3;

/** Groups of files, the first whose pattern matches, with a colour for light and dark pages. */
const groups = {
  SQLite: { files: /^node:sqlite$/, colour: "#3ca951" },
  "journal, queue": {
    files: /^src\/(tp-manager\/journal|shared\/store|supervisor\/(outbox|stores))\//,
    colour: "#6cc5b0",
  },
  "terminal's driver": { files: /^src\/(tp-manager\/terminal|zvt|concert)\//, colour: "#ff725c" },
  "HTTP, messages": {
    files: /^src\/(tp-manager\/http|shared\/ipc|supervisor\/gateway|tp-manager\/supervisor)\//,
    colour: "#4269d0",
  },
  "log, masking": {
    files: /^src\/shared\/(process\/log|masking\/)|^package (pino|sonic-boom|safe-stable)/,
    colour: "#a463f2",
  },
  "orders, attempts": { files: /^src\//, colour: "#efb118" },
  packages: { files: /^package /, colour: "#9c6b4e" },
  "Node.js": { files: /^(node:|internal\/|\(native code\))/, colour: "#97bbf5" },
  "V8, garbage": { files: /^\(garbage/, colour: "#d44a8a" },
  other: { files: /(?:)/, colour: "#9498a0" },
};
type Group = keyof typeof groups;
const groupNames = Object.keys(groups) as Group[];

const waits: Readonly<Record<Wait, string>> = {
  terminal: "#b5690f",
  gateway: "#7a5bd0",
  socket: "#8b949e",
  disk: "#d1242f",
};

interface Picture {
  readonly steps: readonly Step[];
  /** What ran after the answer, of each program in the order of time. */
  readonly after: ReadonlyArray<{ readonly lane: Lane; readonly slices: readonly Slice[] }>;
  readonly title: string;
  readonly lines: readonly string[];
}

/** Returns what both programs did after the answer, the waits left out. */
export function afterAnswer(payments: readonly Payment[], traces: Traces): Picture["after"] {
  const spans = payments.map(({ answerUs, untilUs }) => [answerUs, untilUs] as const);
  return programs.map((lane) => {
    return { lane, slices: filesOf(traces[lane].spent(spans).slices).filter(isWork) };
  });
}

/** Returns the picture as the text of an SVG file. */
export function pictureOf({ steps, after, title, lines }: Picture): string {
  const answerUs = steps.at(-1)?.toUs ?? 1;
  const afterUs = Math.max(...after.map(({ slices }) => sumOf(slices)), 0);
  const scale = CHART_WIDTH / (answerUs + afterUs);
  const x = (us: number): number => CHART_X + us * scale;
  const rows = steps.map((step, i) => stepRow(step, HEAD + i * ROW, x));
  const tail = after.map(({ lane, slices }, i) =>
    barRow(`${lane}: after the answer`, slices, answerUs, HEAD + (steps.length + i) * ROW, x),
  );
  const height = HEAD + (steps.length + after.length) * ROW + 34;
  const bottom = height - 26;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" ` +
      `aria-labelledby="title" font-family="system-ui, sans-serif" font-size="12">`,
    `<title id="title">${escaped(title)}</title>`,
    style(),
    `<rect class="paper" width="${WIDTH}" height="${height}"/>`,
    text(12, 24, title, "head"),
    ...lines.map((line, i) => text(12, 44 + i * 17, line)),
    ...legend(steps, after),
    ...ticks(answerUs + afterUs).map(
      (us) =>
        `<path class="grid" d="M${at1(x(us))} ${HEAD - 4}V${bottom}"/>` +
        text(x(us) - 3, bottom + 15, `${us / 1_000} ms`),
    ),
    `<path class="answer" d="M${at1(x(answerUs))} ${HEAD - 4}V${bottom}"/>`,
    ...rows,
    ...tail,
    "</svg>",
    "",
  ].join("\n");
}

function stepRow(step: Step, y: number, x: (us: number) => number): string {
  const { name, fromUs, toUs, parts, meanwhile } = step;
  let us = fromUs;
  const bars = parts.flatMap((part) => {
    const begun = us;
    us += part.us;
    return "wait" in part
      ? bar(x(begun), x(us), y, BAR, `wait-${part.wait}`, `${part.wait} ${inUs(part.us)}`)
      : sliceBar(part, x(begun), x(us), y, BAR);
  });
  let thinUs = fromUs;
  const thin = meanwhile.flatMap((slice) => {
    const begun = thinUs;
    thinUs += slice.us;
    return sliceBar(slice, x(begun), x(thinUs), y + BAR + 1, THIN_BAR);
  });
  const named = [...parts, ...meanwhile].flatMap((part) => ("wait" in part ? [] : [part]));
  const waited = parts.flatMap((part) => ("wait" in part ? [part] : []));
  const listed = [
    ...waited.filter((part) => part.us >= 1).map((part) => `${part.wait} ${inUs(part.us)}`),
    ...largest(named),
  ].join(", ");
  return [
    text(12, y + BAR, name),
    ...bars,
    ...thin,
    text(TEXT_X, y + BAR, `${inUs(toUs - fromUs)}: ${listed}`),
  ].join("\n");
}

function barRow(
  name: string,
  slices: readonly Slice[],
  fromUs: number,
  y: number,
  x: (us: number) => number,
): string {
  let us = fromUs;
  const bars = slices.flatMap((slice) => {
    const begun = us;
    us += slice.us;
    return sliceBar(slice, x(begun), x(us), y, BAR);
  });
  const listed = `${inUs(us - fromUs)}: ${largest(slices).join(", ")}`;
  return [text(12, y + BAR, name), ...bars, text(TEXT_X, y + BAR, listed)].join("\n");
}

function largest(slices: readonly Slice[]): string[] {
  return slices
    .map(({ frame, us }) => ({ file: frame.file.replace(/^.*\//, ""), us }))
    .toSorted((a, b) => b.us - a.us)
    .slice(0, NAMED)
    .filter(({ us }) => us >= 1)
    .map(({ file, us }) => `${file} ${Math.round(us)}`);
}

function sliceBar(slice: Slice, from: number, to: number, y: number, height: number): string[] {
  const { frame, us } = slice;
  const kind = `g${groupNames.indexOf(groupOf(frame.file))}`;
  return bar(from, to, y, height, kind, `${frame.file}: ${inUs(us)}`);
}

function bar(
  from: number,
  to: number,
  y: number,
  height: number,
  kind: string,
  hint: string,
): string[] {
  if (to - from < SLICE_MIN / 8) return [];
  const width = Math.max(to - from, SLICE_MIN);
  return [
    `<rect class="${kind}" x="${at1(from)}" y="${y}" width="${at1(width)}" height="${height}">` +
      `<title>${escaped(hint)}</title></rect>`,
  ];
}

/** The legend is a sum as well: what the whole payment, and what follows it, spends on each. */
function legend(steps: readonly Step[], after: Picture["after"]): string[] {
  const parts = steps.flatMap((step) => step.parts);
  const sums = [
    ...(Object.keys(waits) as Wait[]).map((wait) => {
      const own = parts.filter((part) => "wait" in part && part.wait === wait);
      return { kind: `wait-${wait}`, name: `${wait} (wait)`, us: sumOf(own) };
    }),
    ...groupNames.map((name, i) => {
      const slices = [
        ...parts.flatMap((part) => ("wait" in part ? [] : [part])),
        ...steps.flatMap(({ meanwhile }) => meanwhile),
        ...after.flatMap((one) => one.slices),
      ];
      const own = slices.filter(({ frame }) => groupOf(frame.file) === name);
      return { kind: `g${i}`, name, us: sumOf(own) };
    }),
  ];
  const perRow = 7;
  const width = (WIDTH - 24) / perRow;
  return sums.flatMap(({ kind, name, us }, i) => {
    const left = 12 + (i % perRow) * width;
    const y = HEAD - 48 + Math.floor(i / perRow) * 17;
    const label = `${name} ${(us / 1_000).toFixed(2)} ms`;
    return [
      `<rect class="${kind}" x="${at1(left)}" y="${y - 9}" width="10" height="10"/>`,
      text(left + 14, y, label),
    ];
  });
}

function groupOf(file: string): Group {
  return groupNames.find((name) => groups[name].files.test(file)) ?? "other";
}

/** Returns about ten round times. */
function ticks(untilUs: number): number[] {
  const step = [100, 200, 500, 1_000, 2_000, 5_000].find((us) => untilUs / us <= 12) ?? 10_000;
  return Array.from({ length: Math.floor(untilUs / step) + 1 }, (_, i) => i * step);
}

function style(): string {
  return [
    "<style>",
    ":root{--ink:#1f2328;--paper:#fff;--grid:#d8dee4}",
    "@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--grid:#30363d}}",
    "text{fill:var(--ink)}.head{font-size:16px;font-weight:600}.paper{fill:var(--paper)}",
    ".grid{stroke:var(--grid);fill:none}.answer{stroke:var(--ink);stroke-dasharray:4 3}",
    ...groupNames.map((name, i) => `.g${i}{fill:${groups[name].colour}}`),
    ...Object.keys(waits).map((wait) => `.wait-${wait}{fill:url(#${wait})}`),
    "</style>",
    "<defs>",
    ...Object.entries(waits).map(
      ([wait, colour]) =>
        `<pattern id="${wait}" width="5" height="5" patternUnits="userSpaceOnUse" ` +
        `patternTransform="rotate(45)"><rect width="5" height="5" fill="${colour}" ` +
        `fill-opacity=".25"/><path d="M0 0V5" stroke="${colour}" stroke-width="3"/></pattern>`,
    ),
    "</defs>",
  ].join("\n");
}

function text(x: number, y: number, content: string, kind?: string): string {
  const named = kind === undefined ? "" : ` class="${kind}"`;
  return `<text x="${at1(x)}" y="${at1(y)}"${named}>${escaped(content)}</text>`;
}

function sumOf(parts: ReadonlyArray<{ readonly us: number }>): number {
  return parts.reduce((sum, { us }) => sum + us, 0);
}

function inUs(us: number): string {
  return `${Math.round(us)} µs`;
}

function at1(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
