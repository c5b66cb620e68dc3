import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { exitCodes, ProgramExit } from "../exit-codes.ts";
import type { Program } from "../ipc/contract.ts";
import { type Entry, type LineFault, nearestName, readEntries } from "./config-file.ts";
import { type Config, type ConfigName, configShape, metaOf, timerFloors } from "./schema.ts";

export type { Config } from "./schema.ts";

interface ConfigResult {
  readonly config: Config;
  /** Things that do not stop the program: unknown names, a file others can read. */
  readonly warnings: readonly string[];
}

/**
 * Reads the setup file for one program. Throws {@link ProgramExit} with exit code 78 and every
 * fault at once, each with line, name, what was wrong and an example. Secrets are never repeated.
 */
export function loadConfig(path: string, program: Program): ConfigResult {
  const text = readSetupFile(path);
  const { config, faults, warnings } = parseConfig(text, program);
  if (!config) {
    const lines = faults.map(({ line, message }) => `  ${line ? `line ${line}: ` : ""}${message}`);
    // A misspelled name is often the reason why another is missing.
    lines.push(...warnings.map((warning) => `  ${warning}`));
    throw new ProgramExit(
      exitCodes.configuration,
      `${path} has ${faults.length === 1 ? "a fault" : `${faults.length} faults`}:\n` +
        lines.join("\n"),
    );
  }
  return { config, warnings: [...warnings, ...permissionWarning(path)] };
}

/** Far above any setup file; a device or a wrong file is refused before it fills the memory. */
const FILE_BYTES_MAX = 256 * 1024;

function readSetupFile(path: string): string {
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
        "it is not there (ENOENT)\ncopy data/config.example.txt to data/config.txt and fill it in",
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

/** Checks the text of a setup file. `config` is missing when there are faults. */
export function parseConfig(
  text: string,
  program: Program,
): { config?: Config; faults: LineFault[]; warnings: string[] } {
  const { entries, faults } = readEntries(text);
  const warnings: string[] = [];
  const byName = new Map<string, Entry>();
  for (const entry of entries) {
    const earlier = byName.get(entry.name);
    if (!Object.hasOwn(configShape, entry.name)) {
      warnings.push(unknownName(entry));
    } else if (earlier) {
      const message = `${entry.name} stands in line ${earlier.line} already`;
      faults.push({ line: entry.line, message });
    } else {
      byName.set(entry.name, entry);
      warnings.push(...commentWarning(entry));
    }
  }
  const values = Object.fromEntries(
    (Object.keys(configShape) as ConfigName[]).map((name) => [
      name,
      readValue(name, byName.get(name), program, faults),
    ]),
  ) as unknown as Config;
  faults.push(
    ...timerFaults(values, byName),
    ...pairFaults(byName),
    ...lastReceiptFaults(values, byName),
  );
  faults.sort((a, b) => a.line - b.line);
  return faults.length > 0 ? { faults, warnings } : { config: values, faults, warnings };
}

function readValue(
  name: ConfigName,
  entry: Entry | undefined,
  program: Program,
  faults: LineFault[],
): unknown {
  const schema = configShape[name];
  const { requiredBy } = metaOf(schema);
  const missing = entry === undefined || entry.value === "";
  if (missing && requiredBy) {
    if (requiredBy.includes(program)) {
      const line = entry?.line ?? 0;
      faults.push({ line, message: `${name} is missing; ${forExample(name)}` });
    }
    return undefined;
  }
  const parsed = schema.safeParse(missing ? undefined : entry.value);
  if (parsed.success) return parsed.data;
  const given = isRepeatable(name, entry?.value ?? "") ? found(entry?.value ?? "") : "";
  const why = parsed.error.issues.map((issue) => issue.message).join(", ");
  faults.push({
    line: entry?.line ?? 0,
    message: `${name} ${why}${given}; ${forExample(name)}`,
  });
  return undefined;
}

/** One line as it could stand in the file: of several examples the first. */
function forExample(name: ConfigName): string {
  return `for example ${name}=${metaOf(configShape[name]).example.split(", ")[0]}`;
}

/** A password also ends up behind the login, "kiosk:secret", or in front of a host. */
function isRepeatable(name: ConfigName, value: string): boolean {
  return !metaOf(configShape[name]).secret && !name.endsWith("_LOGIN") && !value.includes("@");
}

function found(value: string): string {
  return ` (found ${JSON.stringify(value.slice(0, 60))})`;
}

/** A comment behind a free text would silently become a part of the password. */
function commentWarning({ line, name, value, quoted }: Entry): string[] {
  if (quoted || !/\s#/.test(value)) return [];
  return [`line ${line}: the # belongs to the value of ${name}; comments need their own line`];
}

function unknownName({ line, name }: Entry): string {
  const nearest = nearestName(name, Object.keys(configShape));
  return `line ${line}: ${name} is not a known name${nearest ? `, did you mean ${nearest}?` : ""}`;
}

function timerFaults(config: Config, byName: ReadonlyMap<string, Entry>): LineFault[] {
  if (config.TEST_TIMERS) return [];
  return (Object.keys(timerFloors) as Array<keyof typeof timerFloors>).flatMap((name) =>
    config[name] < timerFloors[name]
      ? [
          {
            line: byName.get(name)?.line ?? 0,
            message: `${name} must be at least ${timerFloors[name]}, the protocol's own limit`,
          },
        ]
      : [],
  );
}

/** A login without its password, or the same pair twice, would not be what anybody meant. */
function pairFaults(byName: ReadonlyMap<string, Entry>): LineFault[] {
  const login = byName.get("OPERATOR_LOGIN");
  const password = byName.get("OPERATOR_PWD");
  if ((login === undefined) === (password === undefined)) {
    const same = login !== undefined && login.value === byName.get("TERMINAL_MANAGER_LOGIN")?.value;
    return same
      ? [{ line: login.line, message: "OPERATOR_LOGIN must differ from TERMINAL_MANAGER_LOGIN" }]
      : [];
  }
  const line = (login ?? password)?.line ?? 0;
  return [{ line, message: "OPERATOR_LOGIN and OPERATOR_PWD go together; one is missing" }];
}

/** docs/zvt.md 6.1, 9.4: what was paid at the terminal's own keys would be taken for missed. */
function lastReceiptFaults(config: Config, byName: ReadonlyMap<string, Entry>): LineFault[] {
  const controlled = (Number.parseInt(config.ZVT_CONFIG_BYTE, 16) & 0x10) !== 0;
  if (!config.ZVT_SEND_LAST_RECEIPT || controlled) return [];
  const line = byName.get("ZVT_SEND_LAST_RECEIPT")?.line ?? 0;
  const message =
    "ZVT_SEND_LAST_RECEIPT needs bit 10 in ZVT_CONFIG_BYTE, as in BE: a payment at the " +
    "terminal's own keys would be reversed";
  return [{ line, message }];
}

function permissionWarning(path: string): string[] {
  if (process.platform === "win32") return [];
  return (statSync(path).mode & 0o077) === 0
    ? []
    : [`${path} holds passwords and can be read by others: chmod 600 ${path}`];
}
