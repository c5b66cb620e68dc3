import {
  type Asked,
  helpLines,
  oneOf,
  option,
  readSwitches,
  type SwitchTable,
  switchLines,
} from "../switch-table.ts";
import type { FaultArgument, FaultTable } from "./faults/fault-kinds.ts";
import type { HelpSection, TerminalProtocol } from "./machine.ts";
import type { Draft, StartOptions, TerminalOptions } from "./options.ts";
import { protocols } from "./registry.ts";
import { terminalSwitches } from "./switches.ts";
import texts from "./texts.json" with { type: "json" };

export interface Start {
  readonly protocol: TerminalProtocol;
  readonly options: StartOptions<TerminalOptions>;
}

/** Reads a command line. A mistyped command line gives the result `wrong`, not an exception. */
export function readCommandLine(argv: readonly string[]): Asked<Start> {
  const protocol = protocolIn(argv);
  const switches = allSwitches(protocol);
  const draft: Draft<TerminalOptions> = { faults: [], pace: {}, device: {}, behaviour: {} };
  const start = ({ readyFile: _, ...options }: typeof draft): Start => ({ protocol, options });
  const help = () => helpText(protocol, switches);
  return readSwitches({ switches, draft, options: start, help }, argv);
}

/** Returns the protocol that `--protocol` names; it decides which other switches exist. */
function protocolIn(argv: readonly string[]): TerminalProtocol {
  const at = argv.findIndex((argument) => /^--protocol(=|$)/.test(argument));
  const name = argv[at]?.split("=")[1] ?? argv[at + 1];
  return protocols.find((protocol) => at >= 0 && protocol.name === name) ?? protocols[0];
}

export function allSwitches(protocol: TerminalProtocol): SwitchTable<Draft<TerminalOptions>> {
  const names = protocols.map(({ name }) => name);
  return {
    protocol: option(
      "NAME",
      (value) => oneOf(value, names) && {},
      `${names.join(", ")}; default ${names[0]}`,
    ),
    ...protocol.switches,
    ...terminalSwitches(protocol),
  };
}

function helpText(
  { title, faults, help }: TerminalProtocol,
  switches: SwitchTable<Draft<TerminalOptions>>,
): string {
  return [
    `A simulated card terminal that speaks ${title}, with a bank of its own.`,
    ...texts.help.intro,
    ...switchLines(switches, texts.switches),
    "",
    ...help.flatMap(sectionLines),
    ...faultLines(faults),
    ...texts.help.scenario,
  ].join("\n");
}

function sectionLines({ title, rows }: HelpSection): readonly string[] {
  const lines = rows.flatMap(([left, ...texts]) =>
    texts
      .filter((text) => text !== "")
      .flatMap((text, index) => helpLines(index === 0 ? left : "", text)),
  );
  return [`${title}:`, ...lines, ""];
}

function faultLines({ kinds, points, shared }: FaultTable): readonly string[] {
  const argumentsOf = (given: Readonly<Record<string, FaultArgument>>) =>
    Object.entries(given).map(([name, argument]) => [name, argumentText(argument)] as const);
  return [
    "Faults, as NAME or NAME:key=value,key=value. Every fault also takes",
    ...argumentsOf(shared).flatMap(([name, text]) => helpLines(name, text)),
    "",
    ...Object.entries(kinds).flatMap(([name, kind]) => [
      ...helpLines(name, kind.description),
      ...argumentsOf(kind.arguments).flatMap(([key, text]) => helpLines("", `${key}: ${text}`)),
    ]),
    "",
    ...sectionLines({ title: "Moments (at=)", rows: Object.entries(points) }),
  ];
}

function argumentText({ description, choices, fallback }: FaultArgument): string {
  const choice = choices && choices.length <= 6 ? ` (${choices.join(", ")})` : "";
  return `${description}${choice}${fallback === undefined ? "" : `; default ${fallback}`}`;
}
