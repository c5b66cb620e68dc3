import { existsSync, readFileSync } from "node:fs";
import { readEntries } from "../../shared/config/config-file.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { writeTicket } from "../../shared/process/kiosk-ticket.ts";
import type { CommandContext } from "../output.ts";

/**
 * Prints the address of the kiosk's own pages with a fresh ticket, for the script that starts the
 * browser (docs/browser-kiosk.md 2). Throws {@link ProgramExit}.
 */
export function kioskAddress({ installation, output }: CommandContext): number {
  const port = portOf(installation.configFile);
  if (port === undefined) {
    throw new ProgramExit(
      exitCodes.configuration,
      `no pages of the kiosk are served: KIOSK_PORT and KIOSK_APP in ${installation.configFile}`,
    );
  }
  const ticket = writeTicket(openRunDirectory(installation.dataDirectory));
  output.text(`http://localhost:${port}/#ticket=${ticket}`);
  return exitCodes.ok;
}

/** The one value that is needed; the whole file is the doctor's. */
function portOf(configFile: string): string | undefined {
  if (!existsSync(configFile)) return undefined;
  const { entries } = readEntries(readFileSync(configFile, "utf8"));
  const port = entries.find(({ name }) => name === "KIOSK_PORT")?.value;
  return port === undefined || port === "0" ? undefined : port;
}
