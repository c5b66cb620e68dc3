import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { supervisorAlarms, tpManagerAlarms } from "../../../src/shared/catalog/alarms.ts";
import { conditionTable } from "../../../src/shared/catalog/conditions.ts";
import { repositoryFiles, root } from "../../tidy/sources.ts";

const alarmsOf = { "tp-manager": tpManagerAlarms, supervisor: supervisorAlarms };
const ofConditionTable = new Set<string>(Object.values(conditionTable).map(({ alarm }) => alarm));

test("the operator's book says for every alarm that is of no condition what to do", () => {
  const book = readFileSync(`${root}/docs/operator.md`, "utf8");
  const [, after = ""] = book.split("| Other alarm |");
  const [rows = ""] = after.split("\n\n");
  const listed = [...rows.matchAll(/^\| `([a-z-]+)` \| .+ \|$/gm)].map(([, name]) => name);
  const names = new Set<string>([...tpManagerAlarms, ...supervisorAlarms]);
  const others = [...names].filter((name) => !ofConditionTable.has(name));
  expect(listed.sort()).toEqual(others.sort());
  // The table of conditions, which is generated, has the alarm of each condition in its last cell.
  expect([...ofConditionTable].filter((name) => !book.includes(` | \`${name}\` |\n`))).toEqual([]);
});

const programs = ["tp-manager", "supervisor"] as const;

test.each(programs)("every alarm of %s is raised there, and each once in the list", (program) => {
  const files = repositoryFiles("src").filter(
    (path) => path.startsWith(`src/${program}/`) || path === "src/shared/program/daily.ts",
  );
  const source = files
    .filter((path) => path.endsWith(".ts"))
    .map((path) => readFileSync(`${root}/${path}`, "utf8"))
    .join("\n");
  const ofConditions = Object.values(conditionTable)
    .filter(({ by }) => by === program)
    .map(({ alarm }) => alarm);
  const names: readonly string[] = alarmsOf[program];
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  expect(ofConditions.filter((name) => !names.includes(name))).toEqual([]);
  const known = new Set<string>(ofConditions);
  const silent = names.filter((name) => !known.has(name) && !source.includes(`"${name}"`));
  expect(silent, "names in src/shared/catalog/alarms.ts that no line raises").toEqual([]);
});
