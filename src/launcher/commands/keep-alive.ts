import type { Program } from "../../shared/ipc/contract.ts";
import { probationMarkOf, readyFileOf, underWayFileOf } from "../../shared/version-files.ts";
import { isStoppedOnPurpose } from "../processes/deliberate-stop.ts";
import { probe } from "../processes/probe.ts";

const { existsSync } = process.getBuiltinModule("node:fs");

/** The default time limit of a program's answer, in milliseconds; answers come much sooner. */
export const answerWithinDefaultMs = 5_000;

const updateFiles = [underWayFileOf, readyFileOf, probationMarkOf];

const programs: readonly Program[] = ["tp-manager", "supervisor"];

/**
 * Checks both programs and has them repaired if one does not answer; returns the exit code. The
 * code of the repair is loaded only if needed, because this check runs every two minutes.
 */
export async function keepAlive(dataDirectory: string, answerWithinMs: number): Promise<number> {
  const run = `${dataDirectory}/run`;
  if (isStoppedOnPurpose(dataDirectory)) return 0;
  const probes = await Promise.all(programs.map((program) => probe(run, program, answerWithinMs)));
  const allAnswer = probes.every((result) => result === "answers");
  // While keep-alive.json exists, it records earlier failures, which the repair has to update.
  const isUpdating = updateFiles.some((file) => existsSync(file(dataDirectory)));
  if (allAnswer && !isUpdating && !existsSync(`${run}/keep-alive.json`)) return 0;
  const { repair } = await import("./keep-alive-repair.ts");
  return await repair(dataDirectory, answerWithinMs);
}
