import type { Program } from "../../shared/ipc/contract.ts";
import { probationMarkOf, readyFileOf, underWayFileOf } from "../../shared/version-files.ts";
import { isStoppedOnPurpose } from "../processes/deliberate-stop.ts";
import { probe } from "../processes/probe.ts";

const { existsSync } = process.getBuiltinModule("node:fs");

/** The time limit for a program's answer; a busy machine needs far less for one. */
export const answerWithinDefaultMs = 5_000;

const updateFiles = [underWayFileOf, readyFileOf, probationMarkOf];

const programs: readonly Program[] = ["tp-manager", "supervisor"];

/**
 * One run of the keep-alive: quiet and cheap when all is well. Everything that is needed only when
 * something is wrong is loaded only then. Answers the exit code.
 */
export async function keepAlive(dataDirectory: string, answerWithinMs: number): Promise<number> {
  const run = `${dataDirectory}/run`;
  if (isStoppedOnPurpose(dataDirectory)) return 0;
  const probes = await Promise.all(programs.map((program) => probe(run, program, answerWithinMs)));
  const allAnswer = probes.every((result) => result === "answers");
  // The repair also brings a memory of earlier failures up to date, and removes it in the end.
  const isUpdating = updateFiles.some((file) => existsSync(file(dataDirectory)));
  if (allAnswer && !isUpdating && !existsSync(`${run}/keep-alive.json`)) return 0;
  const { repair } = await import("./keep-alive-repair.ts");
  return await repair(dataDirectory, answerWithinMs);
}
