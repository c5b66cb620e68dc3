import { type Finding, finding, inTwo } from "../../shared/catalog/findings.ts";
import { type Config, loadConfig } from "../../shared/config/config.ts";
import type { Program } from "../../shared/ipc/contract.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
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
  const findings = [
    ...[...faults].map((detail) => finding("setup-faulty", { detail, file: configFile })),
    ...[...warnings].map((detail) => finding("setup-doubtful", { detail, file: configFile })),
  ];
  if (unreadable !== undefined) {
    const otherwise = `correct ${configFile}, then ./launch.sh restart`;
    findings.unshift(finding("setup-unreadable", inTwo(unreadable, otherwise)));
  } else if (faults.size === 0) findings.unshift(finding("setup-right", { file: configFile }));
  return { terminal, gateway, findings };
}

/** The indented lines of loadConfig's refusal; none: the file itself cannot be read. */
function faultsOf(message: string): string[] {
  const indented = message.split("\n").filter((line) => line.startsWith("  "));
  return indented.map((line) => line.trim());
}

/**
 * A value for TERMINAL_PROTOCOL; undefined when it is the usual one. Throws {@link ProgramExit} 64
 * for a value that the setup file does not know.
 */
export function readProtocol(name: string): string | undefined {
  const schema = protocolPart.fields["TERMINAL_PROTOCOL"];
  const parsed = schema?.safeParse(name);
  if (parsed?.success) return schema?.parse(undefined) === name ? undefined : name;
  const why = parsed?.error.issues[0]?.message ?? "cannot be chosen";
  throw new ProgramExit(exitCodes.usage, `--protocol ${why}`);
}
