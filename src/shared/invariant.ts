import type { Clock } from "./time.ts";

/**
 * Throws {@link BrokenInvariant} if `condition` is false. A broken invariant is a fault of this
 * program: the process stops and is restarted, and recovery settles the payment that was running.
 */
export function invariant(condition: unknown, what: string): asserts condition {
  if (!condition) throw new BrokenInvariant(what);
}

export class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";

  constructor(what: string) {
    super(`broken invariant: ${what}`);
  }
}

/**
 * Returns whether `error` is a broken invariant, and ends the process if it is: the error is thrown
 * again where nothing catches it. Its catcher may write only what recovery writes after a crash.
 */
export function endsProcess(error: unknown, clock: Clock): error is BrokenInvariant {
  if (!(error instanceof BrokenInvariant)) return false;
  clock.startTimer("end by a broken invariant", 0, () => {
    throw error;
  });
  return true;
}

/** Throws. Called in the default of a switch that the types prove to be never reached. */
export function unreachable(value: never): never {
  throw new BrokenInvariant(`unexpected value ${JSON.stringify(value)}`);
}
