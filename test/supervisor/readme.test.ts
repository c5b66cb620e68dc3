import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { supervisorAlarms } from "../../src/shared/catalog/alarms.ts";
import { projectRoot } from "../../src/shared/version-files.ts";

const folder = join(projectRoot, "src/supervisor");
const readme = readFileSync(join(folder, "README.md"), "utf8");

test("the README lists every alarm and no other", () => {
  const listed = [...(readme.split("## Alarms")[1]?.matchAll(/^\| ([a-z]+-[a-z-]+) \|/gm) ?? [])];
  expect(listed.map(([, name]) => name)).toEqual(supervisorAlarms);
});
