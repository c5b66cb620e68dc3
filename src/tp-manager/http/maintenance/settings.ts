import { readFile } from "node:fs/promises";
import type { z } from "zod";
import { type ConfigFields, mayBePrinted, metaOf } from "../../../shared/config/config-field.ts";
import { readEntries } from "../../../shared/config/config-file.ts";
import type { setting } from "../openapi/console.ts";

export type Setting = z.output<typeof setting>;

/** Returns every setting with its help, and the unknown names in the setup file. */
export async function readSettings(file: string, fields: ConfigFields): Promise<Setting[]> {
  const { entries } = readEntries(await readFile(file, "utf8").catch(() => ""));
  const known = Object.entries(fields).map(([name, field]): Setting => {
    const { value = "" } = entries.find((entry) => entry.name === name) ?? {};
    const isVisible = mayBePrinted({ name, value }, fields);
    const usual = field.safeParse(undefined);
    const byDefault = usual.success && usual.data !== undefined ? String(usual.data) : null;
    return {
      name,
      value: value !== "" && isVisible ? value : null,
      state: value === "" ? "default" : isVisible ? "set" : "hidden",
      default: byDefault === "" ? null : byDefault,
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
