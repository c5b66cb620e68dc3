import { readFileSync } from "node:fs";
import { sleep } from "../../shared/time.ts";
import type { CommandContext } from "../command-context.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { poll } from "../processes/poll.ts";
import { programSpec } from "../processes/process-spec.ts";
import { findProcesses } from "../processes/process-table.ts";
import { askStatus, type TpManagerStatus } from "../processes/program-state.ts";
import { refused } from "./versions.ts";

const ASK_EVERY_MS = 200;
const ANSWER_WITHIN_MS = 5_000;

/** The report of tp-manager. Throws when there is nothing that an update could be tried with. */
export async function running(context: CommandContext): Promise<TpManagerStatus> {
  mustBeOurs(context);
  return await askTpManager(context);
}

/** Throws when the programs are stopped on purpose, or when a service manager runs them. */
function mustBeOurs({ installation: { dataDirectory }, ownProgramsRun }: CommandContext): void {
  if (deliberateStop(dataDirectory) !== undefined) {
    throw refused("stopped: ./launch.sh comes first");
  }
  if (ownProgramsRun?.() === false) throw refused("a program has ended, or is being stopped");
  if (ownProgramsRun || !isServed(dataDirectory)) return;
  throw refused("a service manager runs the programs: stop it there, and run ./launch.sh first");
}

/**
 * Whether a launcher in the foreground, a service manager's, runs the programs: it would start the
 * older programs again in the middle of a switch.
 */
export function isServed(dataDirectory: string): boolean {
  return findProcesses(programSpec("tp-manager", dataDirectory)).some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes("--foreground");
    } catch {
      return false;
    }
  });
}

async function askTpManager({ installation, clock }: CommandContext): Promise<TpManagerStatus> {
  const spec = programSpec("tp-manager", installation.dataDirectory);
  const status = await askStatus(spec, clock, ANSWER_WITHIN_MS);
  if (status.program !== "tp-manager") throw refused("tp-manager does not answer");
  return status;
}

/** The report of tp-manager; undefined: something runs, is asked or waits for its hand-off. */
export async function idle(context: CommandContext): Promise<TpManagerStatus | undefined> {
  const status = await running(context);
  const { payments } = status;
  const isIdle = payments.running === 0 && payments.notHandedOver === 0 && !payments.asking;
  return isIdle ? status : undefined;
}

/**
 * Runs `work` under the launch lock in the first moment that is right; undefined: none came within
 * `withinMs`. The moment is checked again when the lock is held.
 */
export async function inMoment<M, T>(
  context: CommandContext,
  withinMs: number,
  moment: () => Promise<M | undefined>,
  work: (moment: M) => Promise<T>,
): Promise<T | undefined> {
  const { clock } = context;
  const endMs = clock.monotonicMs() + withinMs;
  for (;;) {
    const leftMs = endMs - clock.monotonicMs();
    if ((await poll(clock, "idle", ASK_EVERY_MS, leftMs, moment)) === undefined) return undefined;
    const done = await withLaunchLock(context, async () => {
      const now = await moment();
      return now === undefined ? undefined : { end: await work(now) };
    });
    if (done) return done.end;
  }
}

/** A tp-manager that is busy for a moment is not taken for one that is dead. */
const SILENT_ANSWERS = 3;

/**
 * Whether the version may go back now. One that stays silent takes no payment, and what waits for
 * its hand-off is handed off by the older one. Throws as {@link running} does, but for silence.
 */
export async function mayGoBack(context: CommandContext): Promise<boolean> {
  mustBeOurs(context);
  for (let asked = 1; ; asked++) {
    const status = await askTpManager(context).catch(() => undefined);
    if (status) return status.payments.running === 0 && !status.payments.asking;
    if (asked === SILENT_ANSWERS) return true;
    await sleep(context.clock, "idle", ASK_EVERY_MS);
  }
}

/** As {@link mayGoBack}, for the keep-alive: what keeps the version from going back is a no. */
export async function mayGoBackByItself(context: CommandContext): Promise<boolean> {
  try {
    return await mayGoBack(context);
  } catch (error) {
    context.output.note(`the version does not go back now: ${(error as Error).message}`);
    return false;
  }
}
