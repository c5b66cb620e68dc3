import type { Installation } from "../shared/process/installation.ts";
import type { Clock } from "../shared/time.ts";
import type { Output } from "./output.ts";

/** The surroundings that every command works on. */
export interface CommandContext {
  readonly installation: Installation;
  readonly clock: Clock;
  readonly output: Output;
  /** Of a launcher that runs the programs itself: whether they all run and nothing stops them. */
  readonly ownProgramsRun?: () => boolean;
}
