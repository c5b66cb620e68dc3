import { finding, inTwo } from "../../shared/catalog/findings.ts";
import {
  faultText,
  parseConfig,
  permissionWarning,
  readSetupFile,
} from "../../shared/config/config.ts";
import type { ConfigFields } from "../../shared/config/config-field.ts";
import { sharedFields } from "../../shared/config/schema.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/program/installation.ts";
import { protocolPart } from "../../tp-manager/terminal/registry.ts";

/**
 * Returns a finding for each fault and warning of the setup file, and its settings as tp-manager
 * and as the supervisor read them; undefined: the settings are faulty.
 */
export function checkConfig({ configFile: file }: Installation) {
  let text: string;
  try {
    text = readSetupFile(file);
  } catch (error) {
    if (!(error instanceof ProgramExit)) throw error;
    const otherwise = `correct ${file}, then ./launch.sh restart`;
    return { findings: [finding("setup-unreadable", inTwo(error.message, otherwise))] };
  }
  const { terminal, gateway } = asRead(text);
  const faults = new Set([...terminal.faults, ...gateway.faults].map(faultText));
  const mode = terminal.config || gateway.config ? permissionWarning(file) : [];
  const warnings = new Set([...terminal.warnings, ...gateway.warnings, ...mode]);
  const findings = [
    ...(faults.size === 0 ? [finding("setup-right", { file })] : []),
    ...[...faults].map((detail) => finding("setup-faulty", { detail, file })),
    ...[...warnings].map((detail) => finding("setup-doubtful", { detail, file })),
  ];
  return { terminal: terminal.config, gateway: gateway.config, findings };
}

/** Returns the faults that both programs find in the text of a setup file: messages with lines. */
export function faultsIn(text: string): ReadonlyMap<string, number> {
  const { terminal, gateway } = asRead(text);
  const all = [...terminal.faults, ...gateway.faults];
  return new Map(all.map(({ line, message }) => [message, line]));
}

/** Every setting of a setup file, also those of all drivers. */
export const everyField: ConfigFields = { ...sharedFields, ...protocolPart.fields };

/** Returns the text of a setup file as tp-manager and as the supervisor read it. */
function asRead(text: string) {
  const terminal = parseConfig(text, "tp-manager", protocolPart);
  return { terminal, gateway: parseConfig(text, "supervisor") };
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
