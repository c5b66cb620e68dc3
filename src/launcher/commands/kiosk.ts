import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { writeTicket } from "../../shared/process/kiosk-ticket.ts";
import { settingsIn } from "../../shared/program/installation.ts";
import type { CommandContext } from "../output.ts";

/**
 * Prints the address of the kiosk's own pages with a new login ticket, for the script that starts
 * the browser (docs/browser-kiosk.md 2). Throws {@link ProgramExit}.
 */
export function kioskAddress({ dataDirectory, configFile, output }: CommandContext): number {
  const port = settingsIn(configFile)("KIOSK_PORT");
  if (port === undefined || port === "0") {
    const why = `no pages of the kiosk are served: KIOSK_PORT and KIOSK_APP in ${configFile}`;
    throw new ProgramExit(exitCodes.configuration, why);
  }
  const ticket = writeTicket(openRunDirectory(dataDirectory));
  output.text(`http://localhost:${port}/#ticket=${ticket}`);
  return exitCodes.ok;
}
