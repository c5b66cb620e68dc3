import { existsSync, rmSync } from "node:fs";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import { launchDetached } from "../processes/launch-process.ts";
import type { SimulatorPart } from "./demo-parts.ts";

const READY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** Starts one simulator and waits until it can be used; answers its pid. */
export async function startSimulator(
  part: SimulatorPart,
  installation: Installation,
  clock: Clock,
): Promise<number> {
  // A file left by a process that was killed would be taken for the new one's.
  rmSync(part.readyFile, { force: true });
  const launched = await launchDetached(part, installation.logDirectory);
  const endMs = clock.monotonicMs() + READY_WITHIN_MS;
  while (!existsSync(part.readyFile)) {
    if (launched.ended || clock.monotonicMs() >= endMs) {
      const why = launched.ended
        ? "has stopped"
        : `is not ready after ${READY_WITHIN_MS / 1_000} s`;
      throw new ProgramExit(
        exitCodes.unavailable,
        `${part.name} ${why}:\n${launched.output().trim() || "it gave no reason"}`,
      );
    }
    await sleep(clock, "simulator ready", LOOK_EVERY_MS);
  }
  return launched.pid;
}
