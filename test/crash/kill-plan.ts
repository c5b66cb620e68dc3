import { type Point, points } from "../../src/simulator/terminal/zvt/faults/fault-table.ts";
import { Random } from "../simulation/random.ts";

const victims = ["tp-manager", "terminal", "supervisor", "sandbox", "both programs"] as const;
export type Victim = (typeof victims)[number];

/**
 * "event": after this wire event of the payment and a little later, around what follows from it.
 * "hold": the terminal stands still at this moment. "time": so long after the sale was asked for.
 */
type Moment =
  | { readonly at: "event"; readonly number: number; readonly delayMs: number }
  | { readonly at: "hold"; readonly phase: Point }
  | { readonly at: "time"; readonly afterMs: number };

/** One kill: who, when, and what the kiosk does afterwards. The same seed gives the same plan. */
export interface KillPlan {
  readonly index: number;
  readonly victim: Victim;
  readonly moment: Moment;
  /** The bank declines. */
  readonly declined: boolean;
  /** The kiosk repeats its order while recovery runs, or only afterwards. */
  readonly repeats: "at once" | "afterwards" | "never";
  /** What the gateway does with the request, so that a kill can hit it in between. */
  readonly gateway: "hang-before-commit" | "hang-after-commit" | "latency" | null;
}

export function killPlan(seed: number, index: number): KillPlan {
  const random = new Random(seed * 1_000_003 + index);
  const victim = random.weighted<Victim>([
    [10, "tp-manager"],
    [4, "terminal"],
    [3, "supervisor"],
    [1, "sandbox"],
    [2, "both programs"],
  ]);
  const behind = victim === "supervisor" || victim === "sandbox";
  return {
    index,
    victim,
    moment: random.weighted<Moment>([
      [behind ? 1 : 6, { at: "event", number: random.between(0, 45), delayMs: delay(random) }],
      [behind ? 1 : 3, { at: "hold", phase: random.pick(points) }],
      [behind ? 6 : 1, { at: "time", afterMs: random.between(0, 400) }],
    ]),
    declined: random.chance(0.08),
    repeats: random.pick(["at once", "afterwards", "never"]),
    gateway: behind
      ? random.pick(["hang-before-commit", "hang-after-commit", "latency", null])
      : null,
  };
}

/** Commits take a fraction of a millisecond. */
const delay = (random: Random): number =>
  random.weighted([
    [3, 0],
    [3, random.between(1, 4)],
    [1, random.between(5, 40)],
  ]);
