import { localeOf } from "../format.js";
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import uPlot from "../vendor/uplot.js";
import { Table } from "./table.js";

/** The style sheet of the charts is loaded with the first chart. */
const style = document.createElement("link");
style.rel = "stylesheet";
style.href = "vendor/uplot.css";
document.head.append(style);

/** @typedef {{ label: string, values: Array<number | null>, color: string }} Line */
/**
 * @typedef {{ name: string, unit: string, lines: Line[], stacked?: boolean, max?: number }} Chart
 */

const HEIGHT = 220;
/** The steps of an axis that counts payments, which are whole numbers. */
const wholeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/**
 * Shows the charts of a day by hour, each with its figures as a table.
 * @param {{ day: any, texts: import("../texts.js").Texts }} props
 */
export function Charts({ day, texts }) {
  const hour = new Intl.DateTimeFormat(localeOf(texts), {
    hour: "2-digit",
    minute: "2-digit",
    timeZone: day.timeZone,
  });
  const number = new Intl.NumberFormat(localeOf(texts), { maximumFractionDigits: 1 });
  const names = day.hours.map((/** @type {any} */ one) => hour.format(new Date(one.from)));
  return html`${chartsOf(day, texts).map(
    (chart) => html`<${Section} key=${chart.name} chart=${chart} names=${names} texts=${texts}
      number=${number} />`,
  )}`;
}

/**
 * @param {any} day
 * @param {import("../texts.js").Texts} texts
 * @returns {Chart[]}
 */
function chartsOf({ hours }, texts) {
  const line = (
    /** @type {string} */ key,
    /** @type {string} */ color,
    /** @type {(hour: any) => number | null} */ figure,
  ) => ({ label: texts(`day.line.${key}`), color, values: hours.map(figure) });
  const sum = (/** @type {any} */ counts) => counts.Declined + counts.Cancelled + counts.Failed;
  const sold = (/** @type {any} */ counts) => counts.Success + counts.Reversed;
  return [
    {
      name: "payments",
      unit: "count",
      lines: [
        line("sales", "--good-text", ({ counts }) => sold(counts)),
        line("refused", "--bad-text", ({ counts }) => sum(counts)),
      ],
    },
    {
      name: "share",
      unit: "percent",
      max: 100,
      lines: [
        line("share", "--accent", ({ counts }) => {
          const ended = sold(counts) + sum(counts);
          return ended === 0 ? null : Math.round((1_000 * sold(counts)) / ended) / 10;
        }),
      ],
    },
    {
      name: "duration",
      unit: "seconds",
      lines: [
        line("median", "--accent", ({ medianSeconds }) => medianSeconds),
        line("longest", "--look-text", ({ longestSeconds }) => longestSeconds),
      ],
    },
    {
      name: "terminal",
      unit: "minutes",
      max: 60,
      lines: [
        line("ready", "--good-text", ({ readySeconds }) => minutes(readySeconds)),
        line("refusing", "--look-text", ({ refusingSeconds }) => minutes(refusingSeconds)),
        line("noLink", "--bad-text", ({ noLinkSeconds }) => minutes(noLinkSeconds)),
      ],
    },
    {
      name: "queue",
      unit: "count",
      lines: [line("waiting", "--accent", ({ waitingMax }) => waitingMax)],
    },
  ];
}

/** @param {number | null} seconds */
function minutes(seconds) {
  return seconds === null ? null : Math.round(seconds / 6) / 10;
}

/**
 * @param {{ chart: Chart, names: string[], texts: import("../texts.js").Texts,
 *   number: Intl.NumberFormat }} props
 */
function Section({ chart, names, texts, number }) {
  const figure = (/** @type {number | null | undefined} */ value) =>
    typeof value === "number" ? number.format(value) : "–";
  const { name, lines, unit } = chart;
  const title = texts(`day.chart.${name}`);
  const isEmpty = lines.every(({ values }) => values.every((value) => !value));
  const heads = lines.map(({ label }) => `${label} (${texts(`day.unit.${unit}`)})`);
  const rows = names.map((hour, at) => [hour, ...lines.map(({ values }) => figure(values[at]))]);
  return html`<section aria-labelledby=${`chart-${name}`}>
    <h2 id=${`chart-${name}`}>${title}</h2>
    <p class="faint">${texts(`day.about.${name}`)}</p>
    ${
      isEmpty
        ? html`<p>${texts("day.nothing")}</p>`
        : html`<${Plot} chart=${chart} names=${names} />
    <details>
      <summary>${texts("day.table", { title })}</summary>
      <${Table} title=${texts("day.table", { title })} heads=${[texts("day.hour"), ...heads]}
        rows=${rows} />
    </details>`
    }</section>`;
}

/**
 * The chart as a picture; a screen reader reads the table instead.
 * @param {{ chart: Chart, names: string[] }} props
 */
function Plot({ chart, names }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const scheme = useScheme();
  useEffect(() => {
    const box = frame.current;
    if (!box) return undefined;
    const plot = drawn(box, chart, names);
    const resized = new ResizeObserver(() => {
      if (box.clientWidth > 0) plot.setSize({ width: box.clientWidth, height: HEIGHT });
    });
    resized.observe(box);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [chart, scheme]);
  return html`<div class="plot" aria-hidden="true" ref=${frame}></div>`;
}

/** Whether the colour scheme is dark: the charts are drawn again when it changes. */
function useScheme() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return dark;
}

/**
 * @param {HTMLElement} box
 * @param {Chart} chart
 * @param {string[]} names
 */
function drawn(box, { lines, max, unit }, names) {
  const colorOf = (/** @type {string} */ name) => colorIn(box, name);
  const [ink, grid] = [colorOf("--faint"), colorOf("--line")];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  const highest = Math.max(1, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  return new uPlot(
    {
      width: Math.max(box.clientWidth, 200),
      height: HEIGHT,
      cursor: { show: false },
      legend: { live: false, show: lines.length > 1 },
      scales: {
        x: { time: false, range: [-0.6, names.length - 0.4] },
        y: { range: [0, max ?? Math.ceil(highest * 1.1)] },
      },
      axes: [
        { ...axis, values: (_plot, at) => at.map((index) => names[index] ?? "") },
        {
          ...axis,
          size: 55,
          ...(unit === "count" ? { incrs: wholeSteps } : {}),
          ...(unit === "percent" ? { values: percents } : {}),
        },
      ],
      series: [
        { label: "" },
        ...lines.map(({ label, color }, index) => ({
          label,
          fill: colorOf(color),
          stroke: colorOf(color),
          width: 0,
          points: { show: false },
          paths: barsOf(names.length, index, lines.length),
        })),
      ],
    },
    [names.map((_name, index) => index), ...lines.map(({ values }) => values)],
    box,
  );
}

/**
 * @param {unknown} _plot
 * @param {number[]} at
 */
const percents = (_plot, at) => at.map((one) => `${one} %`);

/**
 * Draws the bars of one hour side by side; positions are in parts of an hour.
 * @param {number} hours
 * @param {number} index of this line
 * @param {number} count of the lines
 * @returns {import("uplot").Series.PathBuilder}
 */
function barsOf(hours, index, count) {
  const width = 0.8 / count;
  const begin = (index - count / 2) * width;
  const build = uPlot.paths.bars?.({
    size: [1, 60],
    disp: {
      x0: { unit: 1, values: () => Array.from({ length: hours }, (_none, hour) => hour + begin) },
      size: { unit: 1, values: () => Array(hours).fill(width) },
    },
  });
  return build ?? (() => null);
}

/**
 * @param {HTMLElement} box
 * @param {string} name a property of the style sheet
 */
function colorIn(box, name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  box.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
