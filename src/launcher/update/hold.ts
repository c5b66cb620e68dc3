import { exitCodes } from "../../shared/exit-codes.ts";
import { isoTime } from "../../shared/time.ts";
import { type Hold, writeHold } from "../../update/update-state.ts";
import type { Site } from "../site.ts";
import { userName } from "../user-name.ts";

/** No version is taken by itself until then; what is being switched is brought to its end. */
export function hold({ installation, clock, output }: Site, untilMs: number | null): number {
  const held: Hold = { who: userName(), sinceMs: clock.now(), untilMs };
  writeHold(installation.dataDirectory, held);
  output.row("updates", "warn", "held", holdInWords(held));
  return exitCodes.ok;
}

/** For people. */
export function holdInWords({ who, sinceMs, untilMs }: Hold): string {
  const end = untilMs === null ? "until ./launch.sh update --now" : `until ${isoTime(untilMs)}`;
  return `by ${who} since ${isoTime(sinceMs)}, ${end}`;
}
