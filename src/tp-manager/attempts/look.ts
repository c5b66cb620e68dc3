import type { LastTransaction, TerminalIdentity } from "../terminal/terminal.ts";

/** What an idle terminal showed. */
export interface Look {
  readonly identity: TerminalIdentity;
  readonly last: LastTransaction;
  /** Monotonic milliseconds. */
  readonly atMs: number;
}
