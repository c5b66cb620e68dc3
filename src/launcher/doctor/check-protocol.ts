import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { protocolPart } from "../../tp-manager/terminal/registry.ts";

/**
 * A word for TERMINAL_PROTOCOL; undefined when it is the usual one. Throws {@link ProgramExit} 64
 * for a word that the setup file does not know.
 */
export function readProtocol(word: string): string | undefined {
  const schema = protocolPart.fields["TERMINAL_PROTOCOL"];
  const parsed = schema?.safeParse(word);
  if (parsed?.success) return schema?.parse(undefined) === word ? undefined : word;
  const why = parsed?.error.issues[0]?.message ?? "cannot be chosen";
  throw new ProgramExit(exitCodes.usage, `--protocol ${why}`);
}
