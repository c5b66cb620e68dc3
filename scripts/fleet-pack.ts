/**
 * Writes what is made from the code in examples/fleet-pack: the alert rules of the conditions and
 * the texts of Prometheus' console, with the words of the catalogue, and the dashboards.
 * `npm run readme` writes, a test compares.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { conditionNames, conditionTable } from "../src/shared/catalog/conditions.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { dashboards } from "./fleet-pack/dashboards.ts";

/** Returns the texts of the files, by path. */
export function packFiles(): Record<string, string> {
  const boards = Object.entries(dashboards()).map(([name, board]) => [
    `examples/fleet-pack/dashboards/${name}.json`,
    `${JSON.stringify(board, null, 2)}\n`,
  ]);
  return {
    "examples/fleet-pack/conditions.yml": conditionRules(),
    "examples/fleet-pack/consoles/conditions.lib": conditionTexts(),
    ...Object.fromEntries(boards),
  };
}

function conditionRules(): string {
  const rules = conditionNames.flatMap((name) => {
    const { critical, when, todo } = conditionTable[name];
    const alert = name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
    return [
      `      - alert: Fleet${alert}`,
      `        expr: last_over_time(connector_trouble{trouble="${name}"}[1h]) == 1`,
      "        for: 5m",
      `        labels: { severity: ${critical ? "critical" : "warning"} }`,
      "        annotations:",
      `          summary: ${JSON.stringify(`{{ $labels.kiosk }}: ${when}`)}`,
      `          todo: ${JSON.stringify(todo)}`,
    ];
  });
  const head = "# Alerts of the conditions of a kiosk, made from the code by `npm run readme`.";
  // Each rule reads an hour, and a condition has to last five minutes.
  const group = ["groups:", "  - name: conditions", "    interval: 1m", "    rules:"];
  return [head, ...group, ...rules, ""].join("\n");
}

/** Returns the texts for Prometheus' console, as a template that chooses by a condition's name. */
function conditionTexts(): string {
  const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const lines = conditionNames.map((name) => {
    const { when, todo } = conditionTable[name];
    return `{{ if eq . "${name}" }}${escaped(`${when} ${todo}`)}{{ end }}`;
  });
  return [`{{ define "condition" }}`, ...lines, "{{ end }}", ""].join("\n");
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(packFiles())) {
    writeFileSync(join(projectRoot, path), text);
  }
}
