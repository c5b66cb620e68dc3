import { exitCodes } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import { admitPayments } from "../../shared/process/probation.ts";
import { areReadableByOlder } from "../../update/store-copies.ts";
import {
  BY_OPERATOR,
  readLastSwitch,
  type SwitchRecord,
  writeSwitch,
} from "../../update/switch-record.ts";
import { takeUpdateLock } from "../../update/update-lock.ts";
import type { CommandContext } from "../command-context.ts";
import { inMoment, mayGoBack, mayGoBackByItself } from "./idle.ts";
import { carrySwitchOut } from "./switch.ts";
import { placeOf } from "./version-programs.ts";
import { isWhole, namedVersion, refused } from "./versions.ts";

const IDLE_WITHIN_MS = 5 * 60_000;

/**
 * `launch.sh update --back`: the previous version runs again, on the stores as they are, and this
 * one is not taken again by itself (docs/updates.md 4.5). The caller holds the update lock. Throws
 * {@link ProgramExit} when there is none that could; nothing has changed then.
 */
export async function goBack(context: CommandContext): Promise<number> {
  mustBeAble(context);
  const moment = async () => (await mayGoBack(context)) || undefined;
  const end = await inMoment(context, IDLE_WITHIN_MS, moment, () =>
    switchBack(context, mustBeAble(context), BY_OPERATOR),
  );
  if (!end) throw refused("the kiosk was not idle");
  const isBack = end.step === "undone";
  context.output.row("update", "good", "back", `${isBack ? end.from : end.to} runs`);
  return isBack ? exitCodes.ok : exitCodes.unavailable;
}

function mustBeAble({ installation }: CommandContext): SwitchRecord {
  const last = switchToUndo(installation.dataDirectory);
  if (!last) throw refused("there is no version before this one to go back to");
  if (areReadableByOlder(installation.dataDirectory)) return last;
  throw refused(`${last.from} cannot read the stores as ${last.to} has left them`);
}

/** The switch by which the present version came, when the previous one is still there. */
function switchToUndo(dataDirectory: string): SwitchRecord | undefined {
  const last = readLastSwitch(dataDirectory);
  const isOurs = last?.step === "done" && last.to === versionNumber;
  return isOurs && namedVersion() === last.to && isWhole(last.from) ? last : undefined;
}

/** A version that crashes again and again so soon goes back by itself. */
const YOUNG_MS = 60 * 60_000;

/** After a clock was set back too: the previous version is better than none that runs. */
export function isYoung(sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs < YOUNG_MS;
}

/**
 * The programs crash again and again: when this version is younger than an hour and the previous
 * one can go on with the stores, that one runs again, but never in the middle of a payment. Answers
 * whether it does. The caller holds the launch lock.
 */
export async function goBackFromCrashes(context: CommandContext, what: string): Promise<boolean> {
  const { dataDirectory } = context.installation;
  const last = switchToUndo(dataDirectory);
  if (!last || !isYoung(last.atMs, context.clock.now())) return false;
  if (!areReadableByOlder(dataDirectory)) return false;
  const lock = await takeUpdateLock(dataDirectory, context.clock);
  if (!lock) return false;
  try {
    if (!(await mayGoBackByItself(context))) return false;
    const end = await switchBack(context, last, `${what} in its first hour`);
    return end.step === "undone";
  } finally {
    lock.release();
  }
}

/** Programs only: since the version stayed, payments may have been admitted. */
async function switchBack(
  context: CommandContext,
  last: SwitchRecord,
  why: string,
): Promise<SwitchRecord> {
  const { dataDirectory } = context.installation;
  // Before the record, so that no cut lets the stores be put back.
  admitPayments(dataDirectory);
  const atMs = context.clock.now();
  const begins = { step: "giving-up", bars: true, withStores: false } as const;
  const record: SwitchRecord = { ...last, ...begins, why, atMs };
  writeSwitch(dataDirectory, record);
  return await carrySwitchOut(context, record, placeOf(context));
}
