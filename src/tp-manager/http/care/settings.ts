import { readFile } from "node:fs/promises";
import { type ConfigFields, metaOf } from "../../../shared/config/config-field.ts";
import { readEntries } from "../../../shared/config/config-file.ts";
import { isShown } from "../../../shared/config/shown-entry.ts";

export interface Setting {
  readonly name: string;
  /** null: not set, or not to be shown. */
  readonly value: string | null;
  readonly state: "set" | "hidden" | "default" | "unknown";
  readonly default: string | null;
  readonly help: string;
}

/** Every name of the setup file with its help, and those names in the file that nobody knows. */
export async function readSettings(file: string, fields: ConfigFields): Promise<Setting[]> {
  const { entries } = readEntries(await readFile(file, "utf8").catch(() => ""));
  const known = Object.entries(fields).map(([name, field]): Setting => {
    const { value = "" } = entries.find((entry) => entry.name === name) ?? {};
    const shown = isShown({ name, value }, fields);
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
