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

/** The members whose own members are values of a label, not figures of their own. */
const labelled: Readonly<Record<string, readonly [name: string, label: string]>> = {
  "metrics payments": ["payments_total", "outcome"],
  "metrics errors": ["payment_errors_total", "code"],
};

/** Members of every document that are no figures. */
const notFigures = ["version", "sequence", "number", "phases"];

/** Returns the document of a topic; undefined: it is not one, or the topic is another kiosk's. */
export function documentOf(topic: string, payload: string): [string, KioskDocument] | undefined {
  const [root, version, kiosk, name = "", ...rest] = topic.split("/");
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
  const isGood = named === kiosk && given === FLEET_VERSION && !Number.isNaN(Date.parse(`${at}`));
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
    figure(`${name}_ends_timestamp_seconds`, Date.parse(String(time)) / 1000, labels);
  const files = Array.isArray(certificates) ? certificates.filter(isObject) : [];
  return [
    ...(isObject(system) ? [figure("system", 1, system)] : []),
    ...(isObject(startedAfter) ? [figure("started_after", 1, startedAfter)] : []),
    ...files.map(({ setting, ends: time }) => ends("certificate", time, { setting })),
    ...(typeof supportEnds === "string" ? [ends("support", supportEnds)] : []),
  ];
}

function numbersIn(document: string, path: string, value: unknown): readonly Figure[] {
  const [name, label] = labelled[`${document} ${path}`] ?? [path];
  if (typeof value === "number" || typeof value === "boolean") return [figure(name, Number(value))];
  if (!isObject(value)) return [];
  const members = Object.entries(value).filter(([key]) => path !== "" || !notFigures.includes(key));
  if (label === undefined) {
    return members.flatMap(([key, one]) =>
      numbersIn(document, path === "" ? snake(key) : `${path}_${snake(key)}`, one),
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
      figure(`payment_phase_seconds_${name}`, Number(value), { phase, ...labels });
    return [
      ...Object.entries(isObject(buckets) ? buckets : {}).map(([ms, under]) =>
        of("bucket", under, { le: String(Number(ms) / 1_000) }),
      ),
      of("bucket", count, { le: "+Inf" }),
      of("count", count),
      of("sum", Number(sumMs) / 1_000),
    ];
  });
}

/** Returns the labels of a kiosk: `label_` and the name that FLEET_LABELS gives to each. */
export function labelsOf({ labels }: KioskDocument): Readonly<Record<string, string>> {
  if (!isObject(labels)) return {};
  const texts = Object.entries(labels).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(
    texts.slice(0, 8).map(([key, value]) => [`label_${key.replaceAll("-", "_")}`, `${value}`]),
  );
}

function figure(name: string, value: number, labels: Json = {}): Figure {
  const texts = Object.entries(labels).filter(([, one]) => typeof one === "string");
  const named = texts.map(([key, one]) => [snake(key), String(one)]);
  return { name: `connector_${name}`, labels: Object.fromEntries(named), value };
}

/** Whether Prometheus takes the names, and no value is long. */
function isNamed({ name, labels, value }: Figure): boolean {
  const all = [name, ...Object.keys(labels)];
  const isForm = all.every((one) => /^[a-z][a-z0-9_]{0,100}$/.test(one));
  return (
    isForm && Object.values(labels).every(({ length }) => length <= 64) && Number.isFinite(value)
  );
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

const snake = (name: string): string =>
  name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`).replaceAll("-", "_");
