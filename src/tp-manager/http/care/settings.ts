import { readFile } from "node:fs/promises";
import type { z } from "zod";
import { type ConfigFields, mayBePrinted, metaOf } from "../../../shared/config/config-field.ts";
import { readEntries } from "../../../shared/config/config-file.ts";
import type { consoleSchemas } from "../openapi/console.ts";

export type Setting = z.output<typeof consoleSchemas.setting>;

/** Every name of the setup file with its help, and those names in the file that nobody knows. */
export async function readSettings(file: string, fields: ConfigFields): Promise<Setting[]> {
  const { entries } = readEntries(await readFile(file, "utf8").catch(() => ""));
  const known = Object.entries(fields).map(([name, field]): Setting => {
    const { value = "" } = entries.find((entry) => entry.name === name) ?? {};
    const shown = mayBePrinted({ name, value }, fields);
    const usual = field.safeParse(undefined);
    const told = usual.success && usual.data !== undefined ? String(usual.data) : null;
    return {
      name,
      value: value !== "" && shown ? value : null,
      state: value === "" ? "default" : shown ? "set" : "hidden",
      default: told === "" ? null : told,
      help: metaOf(field).help,
    };
  });
  const unknown = entries.filter(({ name }) => !Object.hasOwn(fields, name));
  return [
    ...known,
    ...unknown.map(
      ({ name }): Setting => ({ name, value: null, state: "unknown", default: null, help: "" }),
    ),
  ];
}
