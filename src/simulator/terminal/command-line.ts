import { parseArgs } from "node:util";
import { FaultError } from "./faults/fault-request.ts";
import {
  type FaultArgument,
  type FaultKind,
  faultKinds,
  pointDescriptions,
  sharedArguments,
} from "./faults/fault-table.ts";
import { ScenarioError } from "./scenario.ts";
import type { StartOptions } from "./start.ts";
import { type Draft, type Switch, SwitchError } from "./switch.ts";
import { switches } from "./switches.ts";
import { devices } from "./zvt/devices/devices.ts";
import { quirks } from "./zvt/devices/quirks.ts";
import { askKinds } from "./zvt/machine/ask-list.ts";

/** What a command line asks for. */
type Asked =
  | { readonly ask: "help"; readonly text: string }
  | { readonly ask: "start"; readonly options: StartOptions; readonly readyFile: string | null }
  /** Exit code 64. */
  | { readonly ask: "wrong"; readonly problem: string };

/** Reads the arguments behind `main.ts`. Never throws for what somebody may have typed. */
export function readCommandLine(argv: readonly string[]): Asked {
  const parsed = parsedSwitches(argv);
  if ("problem" in parsed) return { ask: "wrong", problem: parsed.problem };
  if (parsed.values["help"] !== undefined) return { ask: "help", text: helpText() };
  const draft: Draft = { faults: [], timers: {}, pace: {}, device: {}, behaviour: {} };
  try {
    for (const [name, given] of Object.entries(parsed.values)) {
      const { apply } = switches[name] as Switch;
      for (const value of Array.isArray(given) ? given : [given]) apply?.(String(value), draft);
    }
  } catch (error) {
    const known =
      error instanceof SwitchError || error instanceof FaultError || error instanceof ScenarioError;
    if (!known) throw error;
    return { ask: "wrong", problem: error.message };
  }
  const { readyFile = null, ...options } = draft;
  return { ask: "start", options, readyFile };
}

function parsedSwitches(
  argv: readonly string[],
): { values: Record<string, unknown> } | { problem: string } {
  try {
    const { values } = parseArgs({
      args: [...argv],
      strict: true,
      allowPositionals: false,
      options: Object.fromEntries(
        Object.entries(switches).map(([name, { argument, multiple = false }]) => [
          name,
          { type: argument ? ("string" as const) : ("boolean" as const), multiple },
        ]),
      ),
    });
    return { values };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

const HELP_INDENT = 27;

function helpText(): string {
  return [
    "A simulated card terminal that speaks ZVT, with a bank behind it.",
    "",
    "node src/simulator/terminal/main.ts [switches]",
    "",
    "Cents of the amount are the bank's answer: 00 approves, 68 is a customer who walks away,",
    "every other number declines with that ISO 8583 code.",
    "",
    ...Object.entries(switches).map(([name, { argument, description }]) =>
      row(`--${name}${argument ? ` ${argument}` : ""}`, description),
    ),
    "",
    "Terminals (--device):",
    ...Object.entries(devices).flatMap(([name, { name: title, quirks: those }]) => [
      row(name, title),
      ...folded(those.join(", ")).map((line) => row("", line)),
    ]),
    "",
    "What they do otherwise (--quirk):",
    ...Object.entries(quirks).map(([name, text]) => row(name, text)),
    "",
    "Questions (--ask), each only where tag 26 of the registration permits it:",
    ...Object.entries(askKinds).map(([name, { description }]) => row(name, description)),
    "",
    "Faults, as NAME or NAME:key=value,key=value. Every fault also takes",
    ...Object.entries(sharedArguments).map(([name, argument]) => row(name, argumentText(argument))),
    "",
    ...Object.entries(faultKinds as Readonly<Record<string, FaultKind>>).flatMap(faultRows),
    "",
    "Moments (at=):",
    ...Object.entries(pointDescriptions).map(([name, text]) => row(name, text)),
    "",
    'Scenario file: {"faults": ["mute:at=report"], "payments": [{"outcome": "decline:05",',
    '"customerMs": 100, "hostMs": 0, "card": "visa", "faults": [{"name": "bad-crc"}]}]}',
    "payments are used up in order, then everything is as the switches say.",
    "",
  ].join("\n");
}

function faultRows([name, kind]: [string, FaultKind]): string[] {
  return [
    row(name, kind.description),
    ...Object.entries(kind.arguments).map(([key, argument]) =>
      row("", `${key}: ${argumentText(argument)}`),
    ),
  ];
}

function argumentText({ description, words, fallback }: FaultArgument): string {
  const choice = words && words.length <= 6 ? ` (${words.join(", ")})` : "";
  return `${description}${choice}${fallback === undefined ? "" : `; default ${fallback}`}`;
}

const HELP_COLUMNS = 100;

/** Words in lines that fit behind the indent; no line for no words. */
function folded(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ").filter(Boolean)) {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last !== undefined && longer.length <= HELP_COLUMNS - HELP_INDENT)
      lines.splice(-1, 1, longer);
    else lines.push(word);
  }
  return lines;
}

function row(left: string, right: string): string {
  const padded = `  ${left}`.padEnd(HELP_INDENT);
  return padded.endsWith(" ")
    ? `${padded}${right}`
    : `${padded}\n${" ".repeat(HELP_INDENT)}${right}`;
}
