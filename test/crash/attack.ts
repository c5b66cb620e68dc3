import type { WireEvent } from "./wire-watch.ts";

/** One command that is disturbed, with everything that has to be true of it afterwards. */
export interface Attack {
  readonly orderId: string;
  /** Everything that has to be there first; nothing is killed meanwhile. */
  prepare(): Promise<void>;
  /** The command itself. Never rejects: an answer that does not come is what this is about. */
  ask(): Promise<void>;
  /**
   * Waits until nothing runs any more. Says whether the same may be asked once more. `seen` is what
   * happened on the terminal's wire.
   */
  settle(events: readonly WireEvent[]): Promise<{ readonly mayRepeat: boolean }>;
  /** Compares. */
  verdict(events: readonly WireEvent[]): Promise<AttackResult>;
}

export interface AttackResult {
  /** How the order ended. */
  readonly end: string;
  readonly violations: readonly string[];
  readonly detail: unknown;
  /** Minor units that the gateway has to have of the order; 0: nothing; null: either. */
  readonly atGatewayMinor: number | null;
}
