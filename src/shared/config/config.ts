import { readFileSync, statSync } from "node:fs";
import { exitCodes, ProgramExit } from "../exit-codes.ts";
import type { Program } from "../ipc/contract.ts";
import { type Entry, type LineFault, nearestName, readEntries } from "./config-file.ts";
import { type Config, type ConfigName, configShape, metaOf, timerFloors } from "./schema.ts";

export type { Config } from "./schema.ts";

export interface ConfigResult {
  readonly config: Config;
  /** Things that do not stop the program: unknown names, a file others can read. */
  readonly warnings: readonly string[];
}

/**
 * Reads the setup file for one program. Throws {@link ProgramExit} with exit code 78 and every
 * fault at once, each with line, name, what was wrong and an example. Secrets are never repeated.
 */
export function loadConfig(path: string, program: Program): ConfigResult {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new ProgramExit(
      exitCodes.configuration,
      `cannot read ${path}: ${(error as Error).message}\n` +
        "copy data/config.example.txt to data/config.txt and fill it in",
    );
  }
  const { config, faults, warnings } = parseConfig(text, program);
  if (!config) {
    const lines = faults.map(({ line, message }) => `  line ${line || "-"}: ${message}`);
    throw new ProgramExit(
      exitCodes.configuration,
      `${path} has ${faults.length === 1 ? "a fault" : `${faults.length} faults`}:\n` +
        lines.join("\n"),
    );
  }
  return { config, warnings: [...warnings, ...permissionWarning(path)] };
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
      faults.push({ ...entry, message: `${entry.name} stands in line ${earlier.line} already` });
    } else {
      byName.set(entry.name, entry);
    }
  }
  const values = Object.fromEntries(
    (Object.keys(configShape) as ConfigName[]).map((name) => [
      name,
      readValue(name, byName.get(name), program, faults),
    ]),
  ) as unknown as Config;
  faults.push(...timerFaults(values, byName), ...pairFaults(byName));
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
  const { example, requiredBy, secret } = metaOf(schema);
  const missing = entry === undefined || entry.value === "";
  if (missing && requiredBy) {
    if (requiredBy.includes(program)) {
      const line = entry?.line ?? 0;
      faults.push({ line, message: `${name} is missing; for example ${name}=${example}` });
    }
    return undefined;
  }
  const parsed = schema.safeParse(missing ? undefined : entry.value);
  if (parsed.success) return parsed.data;
  const given = secret ? "" : ` (found ${JSON.stringify(entry?.value.slice(0, 60))})`;
  const why = parsed.error.issues.map((issue) => issue.message).join(", ");
  faults.push({
    line: entry?.line ?? 0,
    message: `${name} ${why}${given}; for example ${name}=${example}`,
  });
  return undefined;
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

function permissionWarning(path: string): string[] {
  if (process.platform === "win32") return [];
  return (statSync(path).mode & 0o077) === 0
    ? []
    : [`${path} holds passwords and can be read by others: chmod 600 ${path}`];
}
