import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { type ConfigFields, metaOf } from "../src/shared/config/config-field.ts";
import { sharedParts } from "../src/shared/config/schema.ts";
import { protocolPart } from "../src/tp-manager/terminal/registry.ts";
import { choicesOf } from "./config-choices.ts";

/**
 * Makes data/config.example.txt from the shared names of the setup file and from those of the
 * drivers (docs/design.md 4.2); a test compares. Run it with node scripts/config-example.ts after
 * every change of a name.
 */

interface Row {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly help: string;
  readonly example: string;
  /** The default as a line of the file has it; undefined: the setting is required. */
  readonly fallback: string | undefined;
  readonly required: boolean;
}

export function exampleText(): string {
  const all = [...sharedParts, protocolPart].map(({ title, fields }) => ({
    title,
    rows: rowsOf(fields),
  }));
  const required = all.flatMap(({ rows }) => rows.filter((row) => row.required));
  return [
    "# Setup of the unattended terminal connector.",
    "# ./launch.sh configure asks for what is needed, and makes config.txt from this. Or copy this",
    "# to config.txt in this folder, keep it readable by its owner only (chmod 600), and fill in",
    "# the first part. What is still empty is named, with its line, at the first start.",
    "# NAME=value; a # begins a comment line; quotes keep a space at the ends of a value.",
    "",
    "# ---- To be filled in ".padEnd(92, "-"),
    ...required.flatMap(({ name, help, example }) => [
      "",
      `# ${help}`,
      `# For example: ${example}`,
      `${name}=`,
    ]),
    ...all.flatMap(({ title, rows }) => [
      "",
      `# ---- ${title}: the defaults, to be changed where needed `.padEnd(92, "-"),
      ...rows.filter((row) => !row.required).flatMap(optionalLines),
    ]),
    "",
  ].join("\n");
}

function optionalLines({ name, schema, help, example, fallback }: Row): string[] {
  const choices = choicesOf(schema);
  const one = example === fallback ? [] : [`# For example: ${name}=${example}`];
  const note = choices ? [`# One of: ${choices.join(", ")}`] : one;
  return ["", `# ${help}`, ...note, `#${name}=${fallback ?? ""}`];
}

function rowsOf(fields: ConfigFields): Row[] {
  return Object.entries(fields).map(([name, schema]) => {
    const { help, example, requiredBy } = metaOf(schema);
    const required = requiredBy !== undefined;
    const fallback = required ? undefined : fallbackOf(schema);
    return { name, schema, help, example, required, fallback };
  });
}

/** Returns the default as the file has it; undefined: the setting may be missing. */
function fallbackOf(schema: z.ZodType): string | undefined {
  const value = defaultIn(schema);
  if (value === undefined) return undefined;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join(" ") : String(value);
}

/** Returns the default as the schema has it, before its transformations. */
function defaultIn(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodDefault) return schema.def.defaultValue;
  return schema instanceof z.ZodPipe ? defaultIn(schema.def.in) : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(import.meta.dirname, "../data/config.example.txt"), exampleText());
}
