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

/** Throws. Called in the default of a switch that the types prove to be never reached. */
export function unreachable(value: never): never {
  throw new BrokenInvariant(`unexpected value ${JSON.stringify(value)}`);
}
