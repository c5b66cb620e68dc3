import { type Finding, finding, inTwo } from "../../shared/catalog/findings.ts";
import {
  type Config,
  loadConfig,
  parseConfig,
  SetupFileFaulty,
} from "../../shared/config/config.ts";
import type { Program } from "../../shared/ipc/contract.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/program/installation.ts";
import { protocolPart } from "../../tp-manager/terminal/registry.ts";

export const CONFIG_CHECK = "config";

export interface ReadConfigs {
  /** The settings as tp-manager reads them; undefined: the settings are faulty. */
  readonly terminal: Config | undefined;
  /** The settings as the supervisor reads them; undefined: the settings are faulty. */
  readonly gateway: Config | undefined;
  readonly findings: readonly Finding[];
}

/** Returns a finding for each fault and warning of the setup file, which both programs read. */
export function checkConfig({ configFile: file }: Installation): ReadConfigs {
  let unreadable: string | undefined;
  const faults = new Set<string>();
  const warnings = new Set<string>();
  const read = (program: Program): Config | undefined => {
    try {
      const result = loadConfig(file, program, program === "tp-manager" ? protocolPart : undefined);
      for (const warning of result.warnings) warnings.add(warning);
      return result.config;
    } catch (error) {
      if (!(error instanceof ProgramExit)) throw error;
      if (!(error instanceof SetupFileFaulty)) unreadable = error.message;
      else {
        for (const fault of error.faults) faults.add(fault);
        for (const warning of error.warnings) warnings.add(warning);
      }
      return undefined;
    }
  };
  const [terminal, gateway] = [read("tp-manager"), read("supervisor")];
  const findings = [
    ...[...faults].map((detail) => finding("setup-faulty", { detail, file })),
    ...[...warnings].map((detail) => finding("setup-doubtful", { detail, file })),
  ];
  if (unreadable !== undefined) {
    const otherwise = `correct ${file}, then ./launch.sh restart`;
    findings.unshift(finding("setup-unreadable", inTwo(unreadable, otherwise)));
  } else if (faults.size === 0) findings.unshift(finding("setup-right", { file }));
  return { terminal, gateway, findings };
}

/** Returns the faults that both programs find in the text of a setup file: messages with lines. */
export function faultsIn(text: string): ReadonlyMap<string, number> {
  const { faults } = parseConfig(text, "tp-manager", protocolPart);
  const all = [...faults, ...parseConfig(text, "supervisor").faults];
  return new Map(all.map(({ line, message }) => [message, line]));
}

/**
 * Returns the value of TERMINAL_PROTOCOL for a protocol's name; undefined: the default protocol.
 * Throws {@link ProgramExit} 64 for a protocol that the setup file does not know.
 */
export function readProtocol(name: string): string | undefined {
  const schema = protocolPart.fields["TERMINAL_PROTOCOL"];
  const parsed = schema?.safeParse(name);
  if (parsed?.success) return schema?.parse(undefined) === name ? undefined : name;
  const why = parsed?.error.issues[0]?.message ?? "cannot be chosen";
  throw new ProgramExit(exitCodes.usage, `--protocol ${why}`);
}
