import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { containsPan } from "../../shared/masking/mask.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { everyField } from "../doctor/check-config.ts";
import { filled } from "../output.ts";
import texts from "../texts-en.json" with { type: "json" };

const says = texts.fleet;
/** The settings that the enrolment gives to a kiosk itself. */
const given = /^FLEET_(URL|USER|PASSWORD|CERT_FILE|KEY_FILE|CA_FILE)$/;
const FAULTS_MAX = 20;

/** Lines of a setup file. */
export type Settings = ReadonlyArray<readonly [name: string, value: string]>;

/**
 * Reads the list of kiosks, a CSV file whose first line names the columns (docs/fleet.md 2.4).
 * Returns the settings of each kiosk by its FLEET_ID, and the columns that are not used. Throws
 * {@link ProgramExit} 78 with all faults, each with its line.
 */
export function readKioskList(file: string) {
  const bytes = readFileSync(file);
  const faults: string[] = [];
  if (!isUtf8(bytes)) throw refusal(file, [says.encoding]);
  const lines = bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\r|\n/);
  const separator = /[;,\t]/.exec(lines[0] ?? "")?.[0] ?? ";";
  const columns = cellsOf(lines[0] ?? "", separator) ?? [];
  if (!columns.includes("FLEET_ID")) throw refusal(file, [says.header]);
  const isUsed = (name: string) => Object.hasOwn(everyField, name) && !given.test(name);
  const repeated = columns.find((name, at) => isUsed(name) && columns.indexOf(name) < at);
  if (repeated) throw refusal(file, [filled(says.repeated, () => repeated)]);
  const kiosks = new Map<string, Settings>();
  const firstLines = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.trim() === "") continue;
    const fault = (text: string) => faults.push(`line ${index + 1}: ${text}`);
    const cells = cellsOf(line, separator);
    if (cells?.length !== columns.length) {
      fault(filled(says.cells, () => String(columns.length)));
      continue;
    }
    const settings = columns
      .map((name, at) => [name, cells[at] ?? ""] as const)
      .filter(([name]) => isUsed(name));
    const found = settings.flatMap(([name, value]) => {
      // An empty cell is a setting without a value.
      if (value === "" && name !== "FLEET_ID") return [];
      const [issue] = everyField[name]?.safeParse(value).error?.issues ?? [];
      if (issue) return [`${name} ${issue.message}`];
      return containsPan(value) ? [filled(says.pan, () => name)] : [];
    });
    for (const text of found) fault(text);
    if (found.length > 0) continue;
    const id = settings.find(([name]) => name === "FLEET_ID")?.[1] ?? "";
    // Each kiosk gets a folder of its name, and some systems do not distinguish capitals.
    const first = firstLines.get(id.toLowerCase());
    if (first !== undefined) fault(filled(says.twice, (name) => (name === "id" ? id : `${first}`)));
    firstLines.set(id.toLowerCase(), index + 1);
    kiosks.set(id, settings);
  }
  if (kiosks.size === 0 && faults.length === 0) faults.push(says.empty);
  if (faults.length > 0) throw refusal(file, faults);
  return { kiosks, unused: columns.filter((name) => !isUsed(name)) };
}

/** Returns the cells of a line, which may stand in quotes; undefined: the line is malformed. */
function cellsOf(line: string, separator: string): string[] | undefined {
  const cells: string[] = [];
  const cell = new RegExp(`\\s*(?:"((?:[^"]|"")*)"\\s*|([^"${separator}]*))(${separator}|$)`, "y");
  for (let end: string | undefined = separator; end === separator; ) {
    const [, quoted, plain = "", found] = cell.exec(line) ?? [];
    if (found === undefined) return undefined;
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    end = found;
  }
  return cells;
}

function refusal(file: string, faults: readonly string[]): ProgramExit {
  const more = faults.length - FAULTS_MAX;
  const lines = [...faults.slice(0, FAULTS_MAX), ...(more > 0 ? [`${more} more faults`] : [])];
  const text = `${file}: ${says.nothing}\n${lines.map((line) => `  ${line}`).join("\n")}`;
  return new ProgramExit(exitCodes.configuration, text);
}
