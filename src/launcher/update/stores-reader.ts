import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { compareVersions } from "../../update/offer-policy.ts";
import { areReadableBy } from "../../update/store-copies.ts";
import { readLastSwitch } from "../../update/switch-record.ts";
import type { CommandContext } from "../command-context.ts";
import type { SwitchPlace } from "./version-programs.ts";
import { isWhole, nameVersion, wholeLineIn } from "./versions.ts";

/**
 * When `current` is torn, missing, or names no whole version, the scripts at the root run another
 * one: it may not know the stores as the version that ran here has left them, or may never have
 * been tried here. Then the version that can go on with the stores is named again and started: the
 * one of the last update, else the newest (docs/updates.md 4.2). Stores are only read. A version
 * that somebody has named is never replaced. The caller holds the launch lock. An exit code: that
 * other version runs, so there is nothing more to do for this launcher's own.
 */
export async function leaveToReader(
  context: CommandContext,
  { root, programs }: SwitchPlace,
  own: string,
): Promise<number | undefined> {
  const { dataDirectory } = context.installation;
  const named = wholeLineIn(root, "current");
  if (named !== undefined && isWhole(named, root)) return undefined;
  const last = lastVersion(dataDirectory);
  const isKnownHere = last === undefined || own === last || own === wholeLineIn(root, "previous");
  if (isKnownHere && canRead(root, own, dataDirectory) !== false) return undefined;
  const to = wholeVersions(root)
    .sort((a, b) => Number(b === last) - Number(a === last) || compareVersions(b, a))
    .find((version) => version !== own && canRead(root, version, dataDirectory) === true);
  if (to === undefined) return undefined; // the programs tell which stores they cannot read
  context.output.fault(
    `the file "current" names no whole version, and ${own} does not fit these stores: ` +
      `${to} is named and started`,
  );
  await nameVersion(root, { current: to, previous: own }, context.clock);
  await programs.start(to);
  return exitCodes.ok;
}

/** The version that the last update has left running; undefined: there was none. */
function lastVersion(dataDirectory: string): string | undefined {
  const last = readLastSwitch(dataDirectory);
  return last?.step === "done" ? last.to : last?.from;
}

function wholeVersions(root: string): string[] {
  return readdirSync(join(root, "versions")).filter((name) => isWhole(name, root));
}

const knownSchema = z.object({ schemas: z.record(z.string(), z.int()) });

/** undefined: the version does not say which stores it knows, or these cannot be read. */
function canRead(root: string, version: string, dataDirectory: string): boolean | undefined {
  try {
    const text = readFileSync(join(root, "versions", version, "delivery.json"), "utf8");
    return areReadableBy(knownSchema.parse(JSON.parse(text)).schemas, dataDirectory);
  } catch {
    return undefined;
  }
}
