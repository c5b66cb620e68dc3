/**
 * Throws {@link BrokenInvariant} when `condition` is false. A broken invariant is a fault of this
 * program: the process stops, the keep-alive restarts it, recovery settles what was running.
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

/** Throws; the last case of a switch that has all cases. */
export function unreachable(value: never): never {
  throw new BrokenInvariant(`unexpected value ${JSON.stringify(value)}`);
}
