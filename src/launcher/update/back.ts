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
import { alone, type Site } from "../site.ts";
import { cameBy, mayGoBack, mayGoBackByItself } from "./idle.ts";
import { carrySwitchOut } from "./switch.ts";
import { placeOf } from "./version-programs.ts";
import { isWhole, namedVersion, refused } from "./versions.ts";

const IDLE_WITHIN_MS = 5 * 60_000;

/**
 * `launch.sh update --back`: the version before runs again, on the stores as they are, and this one
 * is not taken again by itself (docs/updates.md 4.5). The caller holds the update lock. Throws
 * {@link ProgramExit} when there is none that could; nothing has changed then.
 */
export async function goBack(site: Site): Promise<number> {
  const { clock, output } = site;
  mustBeAble(site);
  const endMs = clock.monotonicMs() + IDLE_WITHIN_MS;
  for (;;) {
    if (!(await cameBy(site, endMs, () => mayGoBack(site))))
      throw refused("the kiosk was not idle");
    const end = await alone(site, async () => {
      if (!(await mayGoBack(site))) return undefined;
      return await switchBack(site, mustBeAble(site), BY_OPERATOR);
    });
    if (end === undefined) continue;
    const runs = end.step === "undone" ? end.from : end.to;
    output.row("update", "good", "back", `${runs} runs`);
    return end.step === "undone" ? exitCodes.ok : exitCodes.unavailable;
  }
}

function mustBeAble({ installation }: Site): SwitchRecord {
  const last = switchToUndo(installation.dataDirectory);
  if (!last) throw refused("there is no version before this one to go back to");
  if (areReadableByOlder(installation.dataDirectory)) return last;
  throw refused(`${last.from} cannot read the stores as ${last.to} has left them`);
}

/** The switch by which the present version came, when the one before is still there. */
function switchToUndo(dataDirectory: string): SwitchRecord | undefined {
  const last = readLastSwitch(dataDirectory);
  const isOurs = last?.step === "done" && last.to === versionNumber;
  return isOurs && namedVersion() === last.to && isWhole(last.from) ? last : undefined;
}

/** A version that crashes again and again so soon goes back by itself. */
const YOUNG_MS = 60 * 60_000;

/** After a clock was set back too: the version before is better than none that runs. */
export function isYoung(sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs < YOUNG_MS;
}

/**
 * The programs crash again and again: when this version is younger than an hour and the one before
 * can go on with the stores, that one runs again, but never in the middle of a payment. Answers
 * whether it does. The caller holds the launch lock.
 */
export async function goBackFromCrashes(site: Site, what: string): Promise<boolean> {
  const { dataDirectory } = site.installation;
  const last = switchToUndo(dataDirectory);
  if (!last || !isYoung(last.atMs, site.clock.now())) return false;
  if (!areReadableByOlder(dataDirectory)) return false;
  const lock = await takeUpdateLock(dataDirectory, site.clock);
  if (!lock) return false;
  try {
    if (!(await mayGoBackByItself(site))) return false;
    const end = await switchBack(site, last, `${what} in its first hour`);
    return end.step === "undone";
  } finally {
    lock.release();
  }
}

/** Programs only: since the version stayed, payments may have been admitted. */
async function switchBack(site: Site, last: SwitchRecord, why: string): Promise<SwitchRecord> {
  const { installation, clock } = site;
  // Before the record, so that no cut lets the stores be put back.
  admitPayments(installation.dataDirectory);
  const record: SwitchRecord = {
    ...last,
    step: "giving-up",
    why,
    bars: true,
    withStores: false,
    atMs: clock.now(),
  };
  writeSwitch(installation.dataDirectory, record);
  return await carrySwitchOut(site, record, placeOf(site));
}
