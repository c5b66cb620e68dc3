import { statfsSync } from "node:fs";
import { release, uptime } from "node:os";
import { publisherHere, supportOf } from "../../shared/program/installation.ts";
import { bootOf, type StartedAfter } from "../../shared/program/last-run.ts";
import { readOr } from "../../shared/read-or.ts";
import { type Clock, isoTime } from "../../shared/time.ts";
import { allowed, COUNT_MAX, fleetDocuments } from "./documents.ts";

export type FleetMachine = Readonly<ReturnType<typeof machineHere>>;

const {
  os,
  arch,
  release: number,
} = fleetDocuments.state.schema.shape.now.unwrap().shape.system.unwrap().shape;

/** Returns what the fleet is sent about this machine and installation (docs/fleet.md 3.2). */
export function machineHere(dataDirectory: string, startedAfter: StartedAfter, clock: Clock) {
  return {
    startedAfter,
    system: {
      os: allowed(os, process.platform.replace("win32", "windows")) ?? ("other" as const),
      release: allowed(number, /^(\d+\.){2}\d+/.exec(release())?.[0]),
      arch: allowed(arch, process.arch) ?? ("other" as const),
      node: allowed(number, process.versions.node),
    },
    supportEnds: isoTime(supportOf(publisherHere())?.endMs ?? null),
    /** The machine's present run, and how long it has lasted, whatever its clock says. */
    boot: bootOf(clock),
    upMs: (): number => Math.round(uptime() * 1_000),
    diskFreeBytes: (): number | null =>
      readOr<number | null>(null, () => {
        const { bavail, bsize } = statfsSync(dataDirectory);
        return Math.min(bavail * bsize, COUNT_MAX);
      }),
  };
}
