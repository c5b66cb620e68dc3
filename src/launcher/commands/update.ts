import { stdin, stdout } from "node:process";
import { createInterface } from "node:readline/promises";
import { loadConfig } from "../../shared/config/config.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/program/installation.ts";
import { readOr } from "../../shared/read-or.ts";
import { isoTime } from "../../shared/time.ts";
import { isDelivery } from "../../shared/version-files.ts";
import {
  endHold,
  type Hold,
  readHold,
  readLastSwitch,
  readReady,
  readState,
  readSwitch,
  writeHold,
} from "../../update/update-state.ts";
import type { LauncherArguments } from "../arguments.ts";
import { type CommandContext, filled, reasonIn } from "../output.ts";
import { refuseOtherUser } from "../processes/process-table.ts";
import { userName } from "../processes/system-tool.ts";
import allTexts from "../texts-en.json" with { type: "json" };
import { offerPackage } from "../update/offer-package.ts";
import {
  goBack,
  isServed,
  takeDelivery,
  takeReady,
  withUpdateLock,
} from "../update/take-version.ts";
import { refused } from "../update/versions.ts";

const texts = allTexts.update;

/**
 * Carries out `launch.sh update` (docs/updates.md 4.6) and returns the exit code. Throws
 * {@link ProgramExit} when nothing was begun.
 */
export async function update(context: CommandContext, given: LauncherArguments): Promise<number> {
  if (!isDelivery) throw refused("this is a checkout of the source code, which is not updated");
  const actions: Record<LauncherArguments["update"], () => number | Promise<number>> = {
    show: () => showUpdates(context),
    check: () => checkForVersion(context, "ask"),
    now: () => takeNow(context),
    from: () => takeNow(context, given),
    hold: () => holdUpdates(context, given),
    unhold: () => endHoldOfUpdates(context),
    back: () => withUpdateLock(context, () => goBack(context)),
    delivery: () => {
      context.output.note(filled(texts.unsigned, () => given.delivery ?? ""));
      return takeDelivery(context, given.delivery ?? "");
    },
    package: () => offerPackage(context, given.package ?? ""),
    apply: () => takeReady(context),
  };
  if (given.update !== "show") refuseOtherUser(context.dataDirectory);
  return await actions[given.update]();
}

function showUpdates({ dataDirectory, clock, output }: CommandContext): number {
  // The next launcher renames a damaged record of a switch; until then the last one is shown.
  const underWay = readOr(undefined, () => readSwitch(dataDirectory));
  const record = underWay ?? readLastSwitch(dataDirectory);
  output.row("version", "plain", versionNumber, record === undefined ? "no update yet" : "");
  if (record) {
    const { from, to, step, why, atMs } = record;
    output.row("last update", "plain", step, `${from} to ${to}, ${isoTime(atMs)}`);
    if (why !== null) output.note(reasonIn(why));
  }
  const { checkedMs, fault, expiresMs, barred, putOff } = readState(dataDirectory);
  if (checkedMs !== null) {
    const holds = expiresMs === null ? "" : `, metadata hold until ${isoTime(expiresMs)}`;
    const details = fault ? fault.message : `well${holds}`;
    output.row("last check", fault ? "warn" : "good", isoTime(checkedMs), details);
  }
  const ready = readReady(dataDirectory);
  if (ready) output.row("ready", "good", ready.version, "taken by the keep-alive");
  if (putOff) output.row("put off", "warn", putOff.version, putOff.why);
  for (const { version, why } of barred) {
    output.row("not taken again", "warn", version, reasonIn(why));
  }
  const hold = readHold(dataDirectory, clock.now());
  if (hold) output.row("updates", "warn", "held", holdText(hold));
  return exitCodes.ok;
}

/** The folder with a publisher's metadata and targets, in place of the server. */
type Medium = Partial<Pick<LauncherArguments, "from" | "accept-expired">>;

/**
 * Asks the update server, or a folder, for a new version and returns the exit code; "fetch" unpacks
 * it too. Only this command loads the code that verifies signatures.
 */
async function checkForVersion(
  context: CommandContext,
  how: "ask" | "fetch",
  medium: Medium = {},
): Promise<number> {
  const { configFile, output } = context;
  const { checkNow, checkText } = await import("../../update/check-for-update.ts");
  const { config } = loadConfig(configFile, "supervisor");
  try {
    const note = (message: string): void => output.note(message);
    const acceptsExpired = (expiredMs: number) => isAccepted(context, medium, expiredMs);
    const hooks = { alarm: note, warn: note, from: medium.from, acceptsExpired };
    const found = await checkNow(context, config, how, hooks);
    if (!found) throw new ProgramExit(exitCodes.alreadyRunning, "another update is running here");
    output.row("update", "good", found.version ?? "none", checkText(found));
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof ProgramExit) throw error;
    throw new ProgramExit(exitCodes.unavailable, (error as Error).message, { cause: error });
  }
}

/** Asks the operator whether a folder's metadata are used although they have expired. */
async function isAccepted(
  { output }: CommandContext,
  { from, "accept-expired": accepts }: Medium,
  expiredMs: number,
): Promise<boolean> {
  const values: Readonly<Record<string, string>> = { from: String(from), at: isoTime(expiredMs) };
  output.note(filled(texts.expired, (name) => values[name] ?? ""));
  if (accepts) return true;
  if (stdin.isTTY !== true) {
    output.note(texts.scripts);
    return false;
  }
  const lines = createInterface({ input: stdin, output: stdout });
  return (await lines.question(texts.question).finally(() => lines.close())).trim() === "yes";
}

/** Ends a hold, and takes the newest version that the server or a folder offers. */
async function takeNow(context: CommandContext, medium: Medium = {}): Promise<number> {
  const { dataDirectory, output } = context;
  endHold(dataDirectory);
  const exitCode = await checkForVersion(context, "fetch", medium);
  if (exitCode !== exitCodes.ok || !readReady(dataDirectory)) return exitCode;
  if (!isServed(dataDirectory)) return await takeReady(context);
  output.note("the service installs it within a minute; ./launch.sh update shows the result");
  return exitCode;
}

/** Holds updates: until the hold ends, no update begins by itself. A running update goes on. */
function holdUpdates(
  { dataDirectory, clock, output }: CommandContext,
  { untilMs, by }: LauncherArguments,
): number {
  if (untilMs !== null && untilMs <= clock.now()) {
    throw new ProgramExit(exitCodes.usage, "--until must name a day after today");
  }
  const hold: Hold = { who: by ?? userName(), sinceMs: clock.now(), untilMs };
  writeHold(dataDirectory, hold);
  output.row("updates", "warn", "held", holdText(hold));
  return exitCodes.ok;
}

function endHoldOfUpdates({ dataDirectory, clock, output }: CommandContext): number {
  const hold = readHold(dataDirectory, clock.now());
  endHold(dataDirectory);
  output.row("updates", "good", "not held", hold ? `the hold of ${hold.who} is over` : "");
  return exitCodes.ok;
}

function holdText({ who, sinceMs, untilMs }: Hold): string {
  const end = untilMs === null ? "until an operator ends it" : `until ${isoTime(untilMs)}`;
  return `by ${who} since ${isoTime(sinceMs)}, ${end}`;
}
