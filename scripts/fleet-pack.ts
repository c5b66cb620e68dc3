/**
 * Writes what is made from the code in examples/fleet-pack: the alert rules of conditions and
 * alarms and the texts of Prometheus' console, with the words of catalogue, operator's console and
 * operator's book, and the dashboards. `npm run readme` writes, a test compares.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AlarmName, supervisorAlarms, tpManagerAlarms } from "../src/shared/catalog/alarms.ts";
import { conditionNames, conditionTable } from "../src/shared/catalog/conditions.ts";
import { errorTable } from "../src/shared/catalog/errors.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import said from "../src/tp-manager/console/pages/texts/en.json" with { type: "json" };
import { dashboards } from "./fleet-pack/dashboards.ts";

/** Returns the texts of the files, by path. */
export function packFiles(): Record<string, string> {
  const boards = Object.entries(dashboards()).map(([name, board]) => [
    `examples/fleet-pack/dashboards/${name}.json`,
    `${JSON.stringify(board, null, 2)}\n`,
  ]);
  return {
    "examples/fleet-pack/conditions.yml": conditionRules(),
    "examples/fleet-pack/alarms.yml": alarmRules(),
    "examples/fleet-pack/consoles/conditions.lib": library("condition", textsOf(conditionTable)),
    "examples/fleet-pack/consoles/alarms.lib": library("alarm", textsOf(alarmTexts())),
    "examples/fleet-pack/consoles/reasons.lib": library("reason", reasonTexts()),
    ...Object.fromEntries(boards),
  };
}

const textsOf = (
  table: Readonly<Record<string, { readonly when: string; readonly todo: string }>>,
) => Object.entries(table).map(([name, { when, todo }]) => [name, `${when} ${todo}`] as const);

interface Rule {
  readonly alert: string;
  readonly conditions: readonly string[];
  readonly summary: string;
  readonly todo: string;
}

function conditionRules(): string {
  const rules = conditionNames.map((name): Rule => {
    const { critical, when, todo } = conditionTable[name];
    return {
      alert: pascal(name),
      conditions: [
        `expr: last_over_time(connector_trouble{trouble="${name}"}[1h]) == 1`,
        "for: 5m",
        `labels: { severity: ${critical ? "critical" : "warning"} }`,
      ],
      summary: `{{ $labels.kiosk }}: ${when}`,
      todo,
    };
  });
  // Each rule reads an hour, and a condition has to last five minutes.
  return ruleFile("conditions", rules, ["    interval: 1m"]);
}

/** A sample has the time of its arrival, so an alarm of a kiosk that was away stands a day too. */
function alarmRules(): string {
  const at = "{{ $value | humanizeTimestamp }}";
  const where = `“${said["nav.now"]}” in the kiosk's console has the details.`;
  const rules = Object.entries(alarmTexts()).map(([name, { when, todo }]): Rule => {
    const severity = noMoney.has(name) ? "warning" : "critical";
    return {
      alert: pascal(name.replace(/^fleet-/, "")),
      conditions: [
        `expr: last_over_time(connector_alarm_at{alarm="${name}",phase="raised"}[1d])`,
        // Another alarm of the same name is another alert, about which the operator is called.
        `labels: { severity: ${severity}, at: ${JSON.stringify(at)} }`,
      ],
      summary: `{{ $labels.kiosk }}, ${at}: ${when}`,
      todo: `${todo} ${where}`,
    };
  });
  const known = [...new Set([...supervisorAlarms, ...tpManagerAlarms])].join("|");
  const other: Rule = {
    alert: "OtherAlarm",
    conditions: [
      `expr: last_over_time(connector_alarm_at{alarm!~"${known}",phase="raised"}[1d])`,
      `labels: { severity: critical, at: ${JSON.stringify(at)} }`,
    ],
    summary: `{{ $labels.kiosk }}, ${at}: the alarm {{ $labels.alarm }}, newer than these rules`,
    todo: `docs/operator.md of the kiosk's version says what to do. ${where}`,
  };
  return ruleFile("alarms", [...rules, other]);
}

/** Alarms in which no money, goods or card number is in question: they call nobody at night. */
const noMoney: ReadonlySet<string> = new Set<AlarmName>([
  "open-pre-authorisations",
  "hand-off",
  "outbox-lost",
  "daily-chore",
  "gateway-answer-mismatch",
  "notification-unreadable",
  "update-hold-ended",
  "update-metadata",
]);

/**
 * Returns the words of each alarm that is of no condition: those of the operator's console, and
 * what to do from the operator's book. FleetPaymentInDoubt covers `payment-unknown`, and ends.
 */
function alarmTexts(): Readonly<Record<string, { readonly when: string; readonly todo: string }>> {
  const ofConditions = Object.values(conditionTable).map(({ alarm }) => alarm);
  const names = new Set<AlarmName>([...tpManagerAlarms, ...supervisorAlarms]);
  for (const name of [...ofConditions, "payment-unknown"] as const) names.delete(name);
  const console: Readonly<Record<string, string>> = said;
  const texts = [...names].map((name) => {
    const todo = cellOf("operator", name);
    const when = console[`alarm.${name}`]
      ?.replace(/\{(\w+)\}/g, (_, view) => console[`nav.${view}`] ?? "")
      .replaceAll("’", "'");
    if (when === undefined) throw new Error(`${name} has no text`);
    return [name, { when, todo: plain(todo) }] as const;
  });
  return Object.fromEntries(texts);
}

/** Returns the text of each code with which a payment may be refused before it begins. */
function reasonTexts(): (readonly [string, string])[] {
  const codes = Object.entries(errorTable).filter(([code]) =>
    /^(TERMINAL_|STO|UPDATING)/.test(code),
  );
  return [
    ...codes.map(
      ([code, { meaning, action, operator }]) =>
        [code, `${meaning} ${operator ?? action}`] as const,
    ),
    ...["tp-manager-silent", "other"].map((code) => [code, plain(cellOf("fleet", code))] as const),
  ];
}

/** Returns what a table of a book says of a name. */
function cellOf(page: string, name: string): string {
  const book = readFileSync(join(projectRoot, `docs/${page}.md`), "utf8");
  const [, cell] = book.match(`\n\\| \`${name}\` \\| (.+) \\|\n`) ?? [];
  if (cell === undefined) throw new Error(`docs/${page}.md does not say what to do about ${name}`);
  return cell;
}

/** Returns a cell of a table of a book as a sentence without marks; a link names its page. */
const plain = (cell: string): string =>
  `${cell.slice(0, 1).toUpperCase()}${cell.slice(1)}.`
    .replaceAll("`", "")
    .replace(
      /\[([^\]]+)\]\(([^)#]+)(?:#(\d)(\d)-[^)]*)?\)/g,
      (_, says, page, chapter, section) =>
        `${says}: docs/${page}${chapter ? ` ${chapter}.${section}` : ""}`,
    );

const pascal = (name: string): string =>
  name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

function ruleFile(group: string, rules: readonly Rule[], every: readonly string[] = []): string {
  const lines = rules.flatMap(({ alert, conditions, summary, todo }) => [
    `      - alert: Fleet${alert}`,
    ...conditions.map((line) => `        ${line}`),
    "        annotations:",
    `          summary: ${JSON.stringify(summary)}`,
    `          todo: ${JSON.stringify(todo)}`,
  ]);
  const head = `# Alerts of the ${group} of a kiosk, made from the code by \`npm run readme\`.`;
  const begin = [head, "groups:", `  - name: ${group}`, ...every, "    rules:"];
  return [...begin, ...lines, ""].join("\n");
}

/** Returns texts for Prometheus' console, as a template that chooses by a name. */
function library(template: string, texts: Iterable<readonly [string, string]>): string {
  const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const lines = [...texts].map(
    ([name, text]) => `{{ if eq . "${name}" }}${escaped(text)}{{ end }}`,
  );
  return [`{{ define "${template}" }}`, ...lines, "{{ end }}", ""].join("\n");
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(packFiles())) {
    writeFileSync(join(projectRoot, path), text);
  }
}
