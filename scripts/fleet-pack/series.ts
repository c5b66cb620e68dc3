import { conditionNames } from "../../src/shared/catalog/conditions.ts";
import { FLEET_VERSION } from "../../src/supervisor/fleet/documents.ts";

/*
 * The series of a kiosk's documents (docs/fleet-pack.md). Each number and each yes or no of a
 * document is a series that is named by its path, so that figures of later versions arrive too.
 */

/** A series without its kiosk. */
export interface Figure {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Json = Readonly<Record<string, unknown>>;

export interface KioskDocument extends Json {
  readonly kiosk: string;
  readonly at: string;
}

/** The most series of one document, so that one kiosk cannot fill Prometheus. */
const FIGURES_MAX = 500;
/** How deep members may stand in each other; those of a kiosk are 3 deep. */
const DEPTH_MAX = 8;
const LABELS_MAX = 8;
const timeForm = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** The members whose own members are values of a label, not figures of their own. */
const labelled: Readonly<Record<string, readonly [name: string, label: string]>> = {
  "metrics payments": ["payments_total", "outcome"],
  "metrics errors": ["payment_errors_total", "code"],
};

/** Members of every document that are no figures. */
const notFigures = ["version", "sequence", "number", "phases"];

/** Returns the document of a topic; undefined: it is not one, or the topic is another kiosk's. */
export function documentOf(topic: string, payload: string): [string, KioskDocument] | undefined {
  const [root, version, kiosk = "", name = "", ...rest] = topic.split("/");
  if (root !== "connector" || version !== String(FLEET_VERSION) || rest.length > 0)
    return undefined;
  let document: unknown;
  try {
    document = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (!isObject(document)) return undefined;
  const { kiosk: named, version: given, at } = document;
  const isNamed = named === kiosk && /^[A-Za-z0-9_-]{1,64}$/.test(kiosk);
  const isGood = isNamed && given === FLEET_VERSION && timeOf(at) >= 0;
  return isGood ? [name, document as KioskDocument] : undefined;
}

/** Returns the figures of a document. */
export function figuresOf(name: string, document: KioskDocument): readonly Figure[] {
  return figuresIn(name, document)
    .filter((one) => isNamed(one))
    .slice(0, FIGURES_MAX);
}

function figuresIn(name: string, document: KioskDocument): readonly Figure[] {
  const seconds = Date.parse(document.at) / 1000;
  const texts = ({ alarm, phase, kind, result }: Json) => ({ alarm, phase, kind, result });
  if (name === "state") return stateFigures(document);
  if (name === "metrics") {
    const phases = phaseFigures(document["phases"]);
    return [...numbersIn(name, "", document), ...phases, figure("metrics_at", seconds)];
  }
  if (name === "alarm" || name === "reconciliation") {
    return [figure(`${name}_at`, seconds, texts(document))];
  }
  return [];
}

function stateFigures(document: KioskDocument): readonly Figure[] {
  const { connection, now } = document;
  const figures = ["online", "lost"].map((one) => figure(one, Number(connection === one)));
  if (!isObject(now)) return figures;
  const { canPay, obstacles: notReady, troubles: conditions, versions, terminal } = now;
  const present = listOf(conditions);
  const reported = new Set([...conditionNames, ...present]);
  const { link, state } = isObject(terminal) ? terminal : {};
  return [
    ...figures,
    figure("can_pay", Number(canPay === "yes")),
    figure("not_ready_reasons", listOf(notReady).length),
    figure("info", 1, isObject(versions) ? versions : {}),
    figure("terminal", 1, { link, state }),
    ...factFigures(now),
    ...listOf(notReady).map((code) => figure("not_ready", 1, { code })),
    // A condition that has ended is reported as 0.
    ...[...reported].map((trouble) =>
      figure("trouble", Number(present.includes(trouble)), { trouble }),
    ),
    ...numbersIn("state", "", now),
  ];
}

/** The figures of what later versions report of a kiosk's machine. */
function factFigures({ system, startedAfter, certificates, supportEnds }: Json): readonly Figure[] {
  const ends = (name: string, time: unknown, labels: Json = {}): Figure =>
    figure(`${name}_ends_timestamp_seconds`, timeOf(time) / 1000, labels);
  const files = Array.isArray(certificates) ? certificates.filter(isObject) : [];
  return [
    ...(isObject(system) ? [figure("system", 1, system)] : []),
    ...(isObject(startedAfter) ? [figure("started_after", 1, startedAfter)] : []),
    ...files.map(({ setting, ends: time }) => ends("certificate", time, { setting })),
    ends("support", supportEnds),
  ];
}

function numbersIn(document: string, path: string, value: unknown, depth = 0): readonly Figure[] {
  const [name, label] = labelled[`${document} ${path}`] ?? [path];
  if (typeof value === "number" || typeof value === "boolean") return [figure(name, Number(value))];
  if (!isObject(value) || depth > DEPTH_MAX) return [];
  const members = Object.entries(value).filter(([key]) => path !== "" || !notFigures.includes(key));
  if (label === undefined) {
    return members.flatMap(([key, one]) =>
      numbersIn(document, path === "" ? snake(key) : `${path}_${snake(key)}`, one, depth + 1),
    );
  }
  return members.flatMap(([key, one]) =>
    typeof one === "number" ? [figure(name, one, { [label]: key })] : [],
  );
}

/** Returns the histogram of each phase of a payment, with the names that GET /metrics has. */
function phaseFigures(phases: unknown): readonly Figure[] {
  return Object.entries(isObject(phases) ? phases : {}).flatMap(([phase, one]) => {
    const { count, sumMs, buckets } = isObject(one) ? one : {};
    const of = (name: string, value: unknown, labels = {}): Figure =>
      figure(`payment_phase_seconds_${name}`, numberOf(value), { phase, ...labels });
    return [
      ...Object.entries(isObject(buckets) ? buckets : {}).map(([ms, under]) =>
        of("bucket", under, { le: String(Number(ms) / 1_000) }),
      ),
      of("bucket", count, { le: "+Inf" }),
      of("count", count),
      of("sum", numberOf(sumMs) / 1_000),
    ];
  });
}

/** Returns the labels of a kiosk: `label_` and the name that FLEET_LABELS gives to each. */
export function labelsOf({ labels }: KioskDocument): Readonly<Record<string, string>> {
  const isForm = (text: unknown) => typeof text === "string" && /^[a-z0-9-]{1,32}$/.test(text);
  const good = Object.entries(isObject(labels) ? labels : {}).filter((pair) => pair.every(isForm));
  const named = good.map(([key, value]) => [`label_${key.replaceAll("-", "_")}`, value]);
  return Object.fromEntries(named.slice(0, LABELS_MAX)) as Record<string, string>;
}

function figure(name: string, value: number, labels: Json = {}): Figure {
  const texts = Object.entries(labels).filter(([, one]) => typeof one === "string");
  const named = texts.map(([key, one]) => [snake(key), String(one)]);
  return { name: `connector_${name}`, labels: Object.fromEntries(named), value };
}

/** Whether Prometheus takes the names, and nothing is long. */
function isNamed({ name, labels, value }: Figure): boolean {
  const all = [name, ...Object.keys(labels)];
  const isForm = all.every((one) => /^[a-z][a-z0-9_]{0,100}$/.test(one));
  const isShort =
    all.length <= LABELS_MAX && Object.values(labels).every((one) => one.length <= 64);
  return isForm && isShort && Number.isFinite(value);
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a number, or NaN, which is no figure. */
const numberOf = (value: unknown): number => (typeof value === "number" ? value : Number.NaN);

/** Returns the milliseconds of a time, or NaN. */
const timeOf = (value: unknown): number =>
  typeof value === "string" && timeForm.test(value) ? Date.parse(value) : Number.NaN;

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

const snake = (name: string): string =>
  name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`).replaceAll("-", "_");
