import { type Finding, finding, inTwo } from "../../shared/catalog/finding.ts";
import { type Config, loadConfig } from "../../shared/config/config.ts";
import type { Program } from "../../shared/ipc/contract.ts";
import { ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import { protocolPart } from "../../tp-manager/terminal/registry.ts";

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
  let unreadable: string | undefined;
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
      const lines = faultsOf(error.message);
      for (const fault of lines) faults.add(fault);
      if (lines.length === 0) unreadable = error.message;
      return undefined;
    }
  };
  const [terminal, gateway] = [read("tp-manager"), read("supervisor")];
  const file = configFile;
  const findings = [
    ...(unreadable === undefined ? [] : [unread(unreadable, file)]),
    ...[...faults].map((detail) => finding("setup-faulty", { detail, file })),
    ...[...warnings].map((detail) => finding("setup-doubtful", { detail, file })),
  ];
  const isRight = faults.size === 0 && unreadable === undefined;
  return { terminal, gateway, findings: [...right(isRight, file), ...findings] };
}

function right(isRight: boolean, file: string): Finding[] {
  return isRight ? [finding("setup-right", { file })] : [];
}

function unread(message: string, file: string): Finding {
  const otherwise = `correct ${file}, then ./launch.sh restart`;
  return finding("setup-unreadable", inTwo(message, otherwise));
}

/** The indented lines of loadConfig's refusal; none: the file itself cannot be read. */
function faultsOf(message: string): string[] {
  const indented = message.split("\n").filter((line) => line.startsWith("  "));
  return indented.map((line) => line.trim());
}
