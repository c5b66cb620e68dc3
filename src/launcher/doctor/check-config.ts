import { type Config, loadConfig } from "../../shared/config/config.ts";
import { ProgramExit } from "../../shared/exit-codes.ts";
import type { Installation } from "../../shared/installation.ts";
import type { Program } from "../../shared/ipc/contract.ts";
import { protocolPart } from "../../tp-manager/terminal/registry.ts";
import { bad, doubtful, type Finding, good, inTwo } from "./finding.ts";

export const CONFIG_CHECK = "config";

export interface ReadConfigs {
  /** The settings of tp-manager; undefined when they are faulty. */
  readonly terminal: Config | undefined;
  /** The settings of the supervisor; undefined when they are faulty. */
  readonly gateway: Config | undefined;
  readonly findings: readonly Finding[];
}

/** One finding for each fault and warning; both programs read the same file. */
export function checkConfig({ configFile }: Installation): ReadConfigs {
  const faults = new Set<string>();
  const warnings = new Set<string>();
  const read = (program: Program): Config | undefined => {
    try {
      const added = program === "tp-manager" ? protocolPart : undefined;
      const result = loadConfig(configFile, program, added);
      for (const warning of result.warnings) warnings.add(warning);
      return result.config;
    } catch (error) {
      if (!(error instanceof ProgramExit)) throw error;
      for (const fault of faultsOf(error.message)) faults.add(fault);
      return undefined;
    }
  };
  const [terminal, gateway] = [read("tp-manager"), read("supervisor")];
  const findings = [
    ...[...faults].map((fault) =>
      bad(CONFIG_CHECK, ...inTwo(fault, `correct ${configFile}, then ./launch.sh restart`)),
    ),
    ...[...warnings].map((warning) => doubtful(CONFIG_CHECK, warning, `look at ${configFile}`)),
  ];
  if (faults.size === 0) findings.unshift(good(CONFIG_CHECK, `${configFile} is complete`));
  return { terminal, gateway, findings };
}

/** The lines of loadConfig's refusal: a heading with the faults indented, or one sentence. */
function faultsOf(message: string): string[] {
  const indented = message.split("\n").filter((line) => line.startsWith("  "));
  return indented.length > 0 ? indented.map((line) => line.trim()) : [message];
}
