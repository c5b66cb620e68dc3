import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { CommandContext } from "../output.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { startHere } from "./start.ts";
import { stopHere } from "./stop.ts";

export function restart(context: CommandContext): Promise<number> {
  return withLaunchLock(context, async () => {
    const stopped = await stopHere(context);
    return stopped === exitCodes.ok ? await startHere(context) : stopped;
  });
}
