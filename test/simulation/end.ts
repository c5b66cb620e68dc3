import type { KioskAnswer } from "./kiosk.ts";
import type { Plan } from "./plan.ts";
import type { World } from "./world.ts";

/** Looked at when all faults have stopped and everything has had its time. */
export interface End {
  readonly world: World;
  readonly plan: Plan;
  readonly orders: readonly string[];
  /** What a lookup says in the end; undefined: the order is not known. */
  readonly found: ReadonlyMap<string, KioskAnswer>;
}
