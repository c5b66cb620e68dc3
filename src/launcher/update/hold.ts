import { exitCodes } from "../../shared/process/exit-codes.ts";
import { isoTime } from "../../shared/time.ts";
import { endHold, type Hold, readHold, writeHold } from "../../update/update-state.ts";
import { userName } from "../processes/user-name.ts";
import type { Site } from "../site.ts";

/** No version is taken by itself until then; what is being switched is brought to its end. */
export function hold(
  { installation, clock, output }: Site,
  { untilMs, by }: { readonly untilMs: number | null; readonly by: string | undefined },
): number {
  const held: Hold = { who: by ?? userName(), sinceMs: clock.now(), untilMs };
  writeHold(installation.dataDirectory, held);
  output.row("updates", "warn", "held", holdInWords(held));
  return exitCodes.ok;
}

/** Versions are taken by themselves again; nothing is looked for and nothing switched now. */
export function unhold({ installation, clock, output }: Site): number {
  const { dataDirectory } = installation;
  const held = readHold(dataDirectory, clock.now());
  endHold(dataDirectory);
  output.row("updates", "good", "not held", held ? `the hold of ${held.who} is over` : "");
  return exitCodes.ok;
}

/** For people. */
export function holdInWords({ who, sinceMs, untilMs }: Hold): string {
  const end = untilMs === null ? "until somebody ends it" : `until ${isoTime(untilMs)}`;
  return `by ${who} since ${isoTime(sinceMs)}, ${end}`;
}
