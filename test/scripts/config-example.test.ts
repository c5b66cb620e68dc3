import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exampleText } from "../../scripts/config-example.ts";
import { parseConfig } from "../../src/shared/config/config.ts";
import { type ConfigFields, metaOf } from "../../src/shared/config/config-field.ts";
import { sharedFields } from "../../src/shared/config/schema.ts";
import { protocolPart } from "../../src/tp-manager/terminal/registry.ts";

const root = join(import.meta.dirname, "../..");
const fields: ConfigFields = { ...sharedFields, ...protocolPart.fields };
const required = Object.entries(fields).flatMap(([name, field]) => {
  const { requiredBy, example } = metaOf(field);
  return requiredBy ? [{ name, example }] : [];
});

test("the example file is what the schema says: npm run readme writes it", () => {
  const committed = readFileSync(join(root, "data/config.example.txt"), "utf8");
  expect(committed.replaceAll("\r\n", "\n")).toBe(exampleText());
});

test("copied without being filled in, each empty name is named with its own line", () => {
  const lines = exampleText().split("\n");
  const faults = (["tp-manager", "supervisor"] as const).flatMap(
    (program) => parseConfig(exampleText(), program, protocolPart).faults,
  );
  expect(new Set(faults.map(({ line }) => lines[line - 1]))).toEqual(
    new Set(required.map(({ name }) => `${name}=`)),
  );
  for (const { message } of faults) expect(message).toMatch(/^\w+ is missing; for example /);
});

function filledIn(): string {
  const lines = exampleText().split("\n");
  return lines
    .map((line) => {
      const found = required.find(({ name }) => line === `${name}=`);
      return found ? `${line}${found.example.split(", ")[0]}` : line;
    })
    .join("\n");
}

test("filled in from its own examples, it starts both programs without a warning", () => {
  for (const program of ["tp-manager", "supervisor"] as const) {
    const { config, faults, warnings } = parseConfig(filledIn(), program, protocolPart);
    expect({ program, faults, warnings }).toEqual({ program, faults: [], warnings: [] });
    expect(config).toBeDefined();
  }
});

test("every default in it is the one that holds without it", () => {
  const uncommented = filledIn().replace(/^#([A-Z][A-Z0-9_]*=)/gm, "$1");
  for (const program of ["tp-manager", "supervisor"] as const) {
    const given = parseConfig(uncommented, program, protocolPart);
    expect(given.faults).toEqual([]);
    expect(given.config).toEqual(parseConfig(filledIn(), program, protocolPart).config);
  }
});

test("a setting with fixed values lists all of them", () => {
  const of = (name: string) =>
    exampleText()
      .split("\n")
      .at(-1 + lineOf(name));
  expect(of("ZVT_PROFILE")).toBe("# One of: standard, card-complete, hobex, pax-a80, feig, ccv");
  expect(of("SERIAL_BAUD")).toBe("# One of: 1200, 9600, 19200, 38400, 57600, 115200");
  expect(of("AUTO_END_OF_DAY")).toBe("# One of: yes, no");
  expect(of("ZVT_CHARSET")).toContain("# One of: cp437, iso8859-1,");
  expect(of("LOG_DAYS")).toContain("# For example: ");
});

function lineOf(name: string): number {
  return exampleText()
    .split("\n")
    .findIndex((line) => line.startsWith(`#${name}=`));
}

test("the file holds every name once", () => {
  for (const name of Object.keys(fields)) {
    expect(exampleText().match(new RegExp(`^#?${name}=(?! )`, "gm"))).toHaveLength(1);
  }
});
