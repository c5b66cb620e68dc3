import { exitCodes } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import { isoTime } from "../../shared/time.ts";
import { readLastSwitch, readSwitch } from "../../update/switch-record.ts";
import { readHold, readReady, readState } from "../../update/update-state.ts";
import type { Site } from "../site.ts";
import { holdInWords } from "./hold.ts";

/** How this installation stands with its updates. Answers the exit code. */
export function tellUpdates({ installation, clock, output }: Site): number {
  const { dataDirectory } = installation;
  const record = readSwitch(dataDirectory) ?? readLastSwitch(dataDirectory);
  output.row("version", "plain", versionNumber, record === undefined ? "no update yet" : "");
  if (record) {
    const { from, to, step, why, atMs } = record;
    output.row("last update", "plain", step, `${from} to ${to}, ${isoTime(atMs)}`);
    if (why !== null) output.note(why);
  }
  const { checkedMs, fault, expiresMs, barred, putOff } = readState(dataDirectory);
  if (checkedMs !== null) {
    const holds = expiresMs === null ? "" : `, metadata hold until ${isoTime(expiresMs)}`;
    const words = fault ? fault.message : `well${holds}`;
    output.row("last look", fault ? "warn" : "good", isoTime(checkedMs), words);
  }
  const ready = readReady(dataDirectory);
  if (ready) output.row("ready", "good", ready.version, "taken by the keep-alive");
  if (putOff) output.row("put off", "warn", putOff.version, putOff.why);
  for (const { version, why } of barred) output.row("not taken again", "warn", version, why);
  const hold = readHold(dataDirectory, clock.now());
  if (hold) output.row("updates", "warn", "held", holdInWords(hold));
  return exitCodes.ok;
}
