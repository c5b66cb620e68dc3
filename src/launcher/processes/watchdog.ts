import { execFile } from "node:child_process";
import { sleep } from "../../shared/time.ts";
import type { CommandContext } from "../command-context.ts";
import { programSpecs } from "./process-spec.ts";
import { askStatus } from "./program-state.ts";

const ANSWER_WITHIN_MS = 5_000;
/** A store that is brought to a new form keeps a program from answering at its start. */
const STARTING_MS = 300_000;
/** sd_watchdog_enabled(3) asks for two beats in the time; asking takes a while itself. */
const BEATS = 4;
const MICROSECONDS = 1_000;

/**
 * Tells systemd that both programs answer, as often as its unit asks for (docs/design.md 9.5): when
 * one hangs the beat stays away, and systemd restarts the service. Node.js has no sockets of that
 * kind, so systemd's own program sends it. `isAtWork`: an update has the programs stopped.
 */
export async function beatWatchdog(
  context: CommandContext,
  isAtWork: () => boolean,
  over: AbortSignal,
): Promise<void> {
  const limitMs = Number(process.env["WATCHDOG_USEC"]) / MICROSECONDS;
  if (!process.env["NOTIFY_SOCKET"] || !(limitMs > 0)) return;
  const { clock } = context;
  const begunMs = clock.monotonicMs();
  let haveAnswered = false;
  while (!over.aborted) {
    const answer = await doAnswer(context);
    haveAnswered ||= answer;
    const isStarting = !haveAnswered && clock.monotonicMs() - begunMs < STARTING_MS;
    if (answer || isStarting || isAtWork()) await beat(context);
    await sleep(clock, "watchdog", limitMs / BEATS, over).catch(() => undefined);
  }
}

async function doAnswer({ installation, clock }: CommandContext): Promise<boolean> {
  const asked = programSpecs(installation.dataDirectory).map((spec) =>
    askStatus(spec, clock, ANSWER_WITHIN_MS),
  );
  const answers = await Promise.allSettled(asked);
  return answers.every(({ status }) => status === "fulfilled");
}

function beat({ output }: CommandContext): Promise<void> {
  return new Promise((resolve) => {
    execFile("systemd-notify", ["WATCHDOG=1"], { timeout: ANSWER_WITHIN_MS }, (error) => {
      if (error) output.fault(`systemd-notify: ${error.message}`);
      resolve();
    });
  });
}
