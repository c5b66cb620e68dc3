import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { supervisorAlarms } from "../../src/shared/catalog/alarms.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { type FaultRow, faultTable } from "../../src/supervisor/gateway/fault-table.ts";

const folder = join(projectRoot, "src/supervisor");
const readme = readFileSync(join(folder, "README.md"), "utf8");

test("the README's table of classes is the fault table", () => {
  const printed = Object.entries<FaultRow>(faultTable).map(([name, row]) => {
    const marks = [
      row.ambiguous ? "ambiguous" : "",
      row.ambiguousOnce ? "once" : "",
      row.parkAfterADay ? "day" : "",
      row.misconfigured ? "alarm" : "",
    ].filter((mark) => mark !== "");
    const cells = [name, row.action, row.waits, marks.join(", ")];
    return `|${cells.map((cell) => (cell === "" ? " |" : ` ${cell} |`)).join("")}`;
  });
  const from = readme.indexOf(printed[0] ?? "");
  const table = readme.slice(from, readme.indexOf("\n\n", from)).split("\n");
  expect(table).toEqual(printed);
});

test("the README lists every alarm and no other", () => {
  const listed = [...(readme.split("## Alarms")[1]?.matchAll(/^\| ([a-z]+-[a-z-]+) \|/gm) ?? [])];
  expect(listed.map(([, name]) => name)).toEqual(supervisorAlarms);
});
