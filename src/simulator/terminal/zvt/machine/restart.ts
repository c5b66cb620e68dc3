import { sleep } from "../../../../shared/time.ts";
import type { Process } from "./process.ts";

/** Before the lines go down: the last acknowledgement has to be out of them by then. */
const LAST_WORD_MS = 100;

/** Restarts at the end of a command, which its completion has told already. */
export async function restart({ parts, signal }: Process): Promise<void> {
  await sleep(parts.clock, "last word before the restart", LAST_WORD_MS, signal);
  parts.reboot();
}
