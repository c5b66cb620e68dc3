import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import type { z } from "zod";
import type { Program } from "../ipc/contract.ts";
import { exitCodes, ProgramExit } from "../process/exit-codes.ts";
import {
  type ConfigFields,
  type ConfigPart,
  isPrintable,
  metaOf,
  type ValueFault,
} from "./config-field.ts";
import { type Entry, type LineFault, nearestName, readEntries } from "./config-file.ts";
import { type Config, lackingPairs, portClashes, sharedFields, takesRequests } from "./schema.ts";

export type { Config } from "./schema.ts";

/**
 * Reads the setup file for one program; `added`: the settings of the drivers. Throws {@link
 * ProgramExit} with exit code 78 and every fault at once, each with its line, its name, the reason
 * and an example. No message repeats a secret.
 */
export function loadConfig(path: string, program: Program, added?: ConfigPart) {
  const { config, faults, warnings } = parseConfig(readSetupFile(path), program, added);
  if (!config) {
    const count = faults.length === 1 ? "a fault" : `${faults.length} faults`;
    // Warnings are included, because a misspelled name is often why another name is missing.
    const lines = [...faults.map(faultText), ...warnings].map((line) => `  ${line}`);
    throw new ProgramExit(exitCodes.configuration, `${path} has ${count}:\n${lines.join("\n")}`);
  }
  return { config, warnings: [...warnings, ...permissionWarning(path)] };
}

export function faultText({ line, message }: LineFault): string {
  return line ? `line ${line}: ${message}` : message;
}

/** The largest setup file in bytes; a larger file is surely no setup file, and is not read. */
const FILE_BYTES_MAX = 256 * 1024;

/** Returns the text of the setup file. Throws {@link ProgramExit} with advice if it has none. */
export function readSetupFile(path: string): string {
  const refuse = (why: string): ProgramExit =>
    new ProgramExit(exitCodes.configuration, `cannot read ${path}: ${why}`);
  let bytes: Buffer;
  try {
    const stat = statSync(path);
    if (!stat.isFile()) throw refuse("it is not a file; move it away and put the setup file there");
    if (stat.size > FILE_BYTES_MAX) throw refuse("it is far too large for a setup file");
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof ProgramExit) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      throw refuse(
        "it is not there (ENOENT)\nrun ./launch.sh configure, " +
          "or copy data/config.example.txt to data/config.txt and fill it in",
      );
    }
    if (code !== "EACCES") throw refuse(message);
    throw refuse(
      "permission denied (EACCES)\n" +
        `it must belong to the user who runs the connector: sudo chown USER ${path}`,
    );
  }
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const line = bytes
    .toString("latin1")
    .split("\n")
    .findIndex((text) => !isUtf8(Buffer.from(text, "latin1")));
  throw refuse(`line ${line + 1} is not UTF-8 text; save the file with the encoding UTF-8`);
}

/**
 * Checks the text of a setup file. `config` is missing when there are faults. Unknown names are
 * found only with `added`, the settings of the drivers.
 */
export function parseConfig(
  text: string,
  program: Program,
  added?: ConfigPart,
): { config?: Config; faults: LineFault[]; warnings: string[] } {
  const { entries, faults } = readEntries(text);
  const fields: ConfigFields = { ...sharedFields, ...added?.fields };
  const warnings: string[] = [];
  const byName = new Map<string, Entry>();
  for (const entry of entries) {
    const earlier = byName.get(entry.name);
    if (!Object.hasOwn(fields, entry.name)) {
      if (added) warnings.push(unknownName(entry, Object.keys(fields)));
    } else if (earlier) {
      const message = `${entry.name} stands in line ${earlier.line} already`;
      faults.push({ line: entry.line, message });
    } else {
      byName.set(entry.name, entry);
      warnings.push(...commentWarning(entry), ...valueWarning(entry, fields[entry.name]));
    }
  }
  const values = Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [
      name,
      readValue(name, schema, byName.get(name), program, faults),
    ]),
  );
  const isGiven = (name: string): boolean => (byName.get(name)?.value ?? "") !== "";
  const pairs = [...pairFaults(byName), ...lackingPairs(isGiven)];
  for (const { name, message } of [...(added?.check?.(values) ?? []), ...pairs]) {
    faults.push({ line: byName.get(name)?.line ?? 0, message });
  }
  warnings.push(...kioskWarning(isGiven, byName.get("KIOSK_PORT")?.value));
  warnings.push(...operatorWarning(byName), ...requestsWarning(values as Partial<Config>));
  // tp-manager starts with any clash: a kiosk may pay with it, although the supervisor cannot run.
  for (const { name, port, other } of portClashes(values as Partial<Config>)) {
    const line = byName.get(name)?.line ?? 0;
    const message = `${name} ${port} is ${other} too; only one of the two can use the port`;
    if (name !== "NOTIFICATION_PORT") warnings.push(`line ${line}: ${message}`);
    else if (program === "supervisor") faults.push({ line, message });
  }
  faults.sort((a, b) => a.line - b.line);
  // The cast is correct: each value was read with the schema of its setting.
  return faults.length > 0 ? { faults, warnings } : { config: values as Config, faults, warnings };
}

function readValue(
  name: string,
  schema: z.ZodType,
  entry: Entry | undefined,
  program: Program,
  faults: LineFault[],
): unknown {
  const meta = metaOf(schema);
  const example = `for example ${name}=${meta.example.split(", ")[0]}`;
  const missing = entry === undefined || entry.value === "";
  const line = entry?.line ?? 0;
  if (missing && meta.requiredBy) {
    if (meta.requiredBy.includes(program)) {
      faults.push({ line, message: `${name} is missing; ${example}` });
    }
    return undefined;
  }
  const parsed = schema.safeParse(missing ? undefined : entry.value);
  if (parsed.success) return parsed.data;
  const value = entry?.value ?? "";
  const found = isPrintable(schema, value) ? ` (found ${JSON.stringify(value.slice(0, 60))})` : "";
  const why = parsed.error.issues.map((issue) => issue.message).join(", ");
  faults.push({ line, message: `${name} ${why}${found}; ${example}` });
  return undefined;
}

function commentWarning({ line, name, value, quoted }: Entry): string[] {
  if (quoted || !/\s#/.test(value)) return [];
  return [`line ${line}: the # belongs to the value of ${name}; comments need their own line`];
}

function valueWarning({ line, name, value }: Entry, schema: z.ZodType | undefined): string[] {
  const warning = schema && metaOf(schema).warn?.(value);
  return warning === undefined ? [] : [`line ${line}: ${name} ${warning}`];
}

function unknownName({ line, name }: Entry, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return `line ${line}: ${name} is not a known name${nearest ? `, did you mean ${nearest}?` : ""}`;
}

function kioskWarning(isGiven: (name: string) => boolean, port: string | undefined): string[] {
  if (port === "0" || isGiven("KIOSK_PORT") === isGiven("KIOSK_APP")) return [];
  return ["KIOSK_PORT and KIOSK_APP go together; one is missing, and no pages are served"];
}

function requestsWarning(settings: Partial<Config>): string[] {
  if (!settings.FLEET_COMMANDS || takesRequests(settings)) return [];
  return [
    "FLEET_COMMANDS has no effect with FLEET_MQTT=3.1.1: no request of the fleet is accepted",
  ];
}

/** Returns a warning about an operator's login without a password, with which some kiosks run. */
function operatorWarning(byName: ReadonlyMap<string, Entry>): string[] {
  const both = ["OPERATOR_LOGIN", "OPERATOR_PWD"].map((name) => byName.get(name));
  const empty = both.find((entry) => entry?.value === "");
  if (!empty || both.every((entry) => !entry?.value)) return [];
  const why = "is empty: the kiosk's login may make the maintenance calls of an operator";
  return [`line ${empty.line}: ${empty.name} ${why}`];
}

function pairFaults(byName: ReadonlyMap<string, Entry>): readonly ValueFault[] {
  const login = byName.get("OPERATOR_LOGIN");
  const password = byName.get("OPERATOR_PWD");
  if ((login === undefined) !== (password === undefined)) {
    const { name } = (login ?? password) as Entry;
    return [{ name, message: "OPERATOR_LOGIN and OPERATOR_PWD go together; one is missing" }];
  }
  const kiosk = byName.get("TERMINAL_MANAGER_LOGIN")?.value;
  const [figures] = byName.get("METRICS_LOGIN")?.value.split(":") ?? [];
  const differs = (name: string, other: string) => ({
    name,
    message: `${name} must differ from ${other}`,
  });
  return [
    ...(login && login.value === kiosk
      ? [differs("OPERATOR_LOGIN", "TERMINAL_MANAGER_LOGIN")]
      : []),
    ...(figures && figures === kiosk ? [differs("METRICS_LOGIN", "TERMINAL_MANAGER_LOGIN")] : []),
    ...(figures && figures === login?.value ? [differs("METRICS_LOGIN", "OPERATOR_LOGIN")] : []),
  ];
}

export function permissionWarning(path: string): string[] {
  if (process.platform === "win32" || (statSync(path).mode & 0o077) === 0) return [];
  return [`${path} holds passwords and can be read by others: chmod 600 ${path}`];
}
