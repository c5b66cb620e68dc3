import { Random } from "../support/inputs/random.ts";
import type { Action, Behaviour, Plan, Spelling, Step, Store } from "./plan.ts";

/** Drawn apart, so that the rest of a seed's plan does not depend on these. */
const FURTHER = 2_000_000_011;
const MINUTE_MS = 60_000;

interface FurtherFault {
  readonly name: string;
  /** How likely it is in one run. */
  readonly probability: number;
  /** What happens, each at a place of its own in the plan, in this order. */
  readonly actions?: (random: Random) => readonly Action[];
  /** What the terminal does differently with one financial command. */
  readonly behaviour?: Partial<Behaviour>;
}

const spellings: readonly Spelling[] = ["without-zeros", "no-receipt", "no-trace"];
const stores: readonly Store[] = ["journal", "supervisor"];
const aWhile = (random: Random): number => random.between(MINUTE_MS / 2, 6 * MINUTE_MS);
const pause = (random: Random): number => random.between(0, 5_000);

/**
 * Habits and mishaps that the first model did not know (docs/rules/15-not-yet.md,
 * docs/rules/16-fresh.md, docs/rules/17-loss.md, docs/rules/18-totals.md, docs/rules/19-late.md).
 */
const furtherFaults: readonly FurtherFault[] = [
  {
    name: "terminal-comes-back",
    probability: 0.03,
    actions: (random) => [{ do: "terminal-comes-back", ms: aWhile(random) }],
  },
  {
    name: "terminal-locked",
    probability: 0.03,
    actions: (random) => [{ do: "terminal-locked", ms: aWhile(random) }],
  },
  {
    name: "answers-late",
    probability: 0.03,
    actions: (random) => [
      { do: "answers-late", byMs: random.between(1_000, 14_000), ms: aWhile(random) },
    ],
  },
  {
    name: "answers-stale",
    probability: 0.03,
    actions: (random) => [{ do: "answers-stale", ms: aWhile(random) }],
  },
  {
    name: "spells-numbers",
    probability: 0.03,
    actions: (random) => [
      { do: "spells-numbers", spelling: random.pick(spellings), ms: 10 * aWhile(random) },
    ],
  },
  { name: "terminal-forgets", probability: 0.05, actions: () => [{ do: "terminal-forgets" }] },
  { name: "numbers-start-over", probability: 0.05, actions: () => [{ do: "numbers-start-over" }] },
  { name: "closes-by-itself", probability: 0.05, actions: () => [{ do: "closes-by-itself" }] },
  {
    name: "hides a kept sale",
    probability: 0.05,
    // The next end of day can be compared when it joins this one.
    actions: () => [{ do: "end-of-day" }],
    behaviour: { withoutAck: "hidden" },
  },
  { name: "reversal without number", probability: 0.1, behaviour: { numbersOriginal: false } },
  {
    name: "supervisor-refuses",
    probability: 0.05,
    actions: (random) => [{ do: "supervisor-refuses", ms: aWhile(random) }],
  },
  { name: "operator-settles", probability: 0.1, actions: () => [{ do: "operator-settles" }] },
  {
    name: "store-lost",
    probability: 0.03,
    actions: (random) => [{ do: "store-lost", store: random.pick(stores), ms: pause(random) }],
  },
  {
    name: "store-zeroed",
    probability: 0.025,
    actions: (random) => [{ do: "store-zeroed", store: random.pick(stores), ms: pause(random) }],
  },
  {
    name: "store-restored",
    probability: 0.025,
    actions: (random) => [
      { do: "nightly-copy" },
      { do: "store-restored", store: random.pick(stores), ms: pause(random) },
    ],
  },
  {
    name: "stores-restored",
    probability: 0.03,
    actions: (random) => [{ do: "nightly-copy" }, { do: "stores-restored", ms: pause(random) }],
  },
  {
    name: "stores-swapped",
    probability: 0.03,
    actions: (random) => [
      { do: "nightly-copy" },
      { do: "stores-swapped", store: random.pick(stores), ms: pause(random) },
    ],
  },
  { name: "gateway-return", probability: 0.16, actions: gatewayReturn },
];

const disturbances: ReadonlyArray<(random: Random) => Action> = [
  (random) => ({ do: "crash", ms: pause(random) }),
  (random) => ({ do: "supervisor-crash", ms: pause(random) }),
  (random) => ({ do: "crash-at-write", when: "after", ...atWrite(random) }),
  (random) => ({ do: "supervisor-crash-at-write", when: "after", ...atWrite(random) }),
  (random) => ({ do: "disk-full", afterWrites: random.between(0, 10), writes: 2 }),
  (random) => ({ do: "supervisor-disk-full", afterWrites: random.between(0, 5), writes: 2 }),
  (random) => ({ do: "ipc", mode: "lost-answer", ms: random.between(1_000, 60_000) }),
  (random) => ({ do: "gateway", mode: "lost-answer", ms: random.between(1_000, 60_000) }),
];
const atWrite = (random: Random) => ({ writes: random.between(1, 8), ms: pause(random) });

/** Of the first order; with a reversal and a repetition of the order around it. */
function gatewayReturn(random: Random): readonly Action[] {
  const order = "order-1";
  const by = random.pick(["merchant", "kiosk"] as const);
  const how = random.pick(["cancel", "refund"] as const);
  const part = random.happens(0.3) ? random.between(1, 400) : null;
  const amountMinor = how === "cancel" ? null : part;
  const notified = random.pick(["at-once", "late", "twice", "when-asked"] as const);
  const ms = random.weighted([
    [2, 0],
    [5, random.between(1, 15_000)],
    [2, random.between(15_000, 240_000)],
  ]);
  const reversalAfterMs = random.happens(0.4) ? random.between(0, 5_000) : null;
  const given = { order, how, amountMinor, ms, notified, reversalAfterMs };
  const actions: Action[] = [{ do: "gateway-return", ...given, by }];
  if (random.happens(0.3)) {
    actions.push({ do: "gateway-return", ...given, by: by === "kiosk" ? "merchant" : "kiosk" });
  }
  if (random.happens(0.3)) actions.push({ do: "reverse", order });
  if (random.happens(0.4)) actions.push({ do: "end-of-day" });
  const sale = { goodsSeconds: null, patienceMs: null };
  if (random.happens(0.5))
    actions.push({ do: "pay", order, amountMinor: random.pick([999, 500]), ...sale });
  if (random.happens(0.5)) actions.push(random.pick(disturbances)(random));
  return random.happens(0.5) ? actions : actions.toReversed();
}

type Changed = Pick<Plan, "steps" | "behaviours">;

/** `only`: exactly these faults, and each for certain; without it they are random. */
export function withFurtherFaults(
  seed: number,
  plan: Changed,
  only = process.env["SIMULATE_ONLY"]?.split(","),
): Changed {
  const random = new Random(seed + FURTHER);
  const steps = [...plan.steps];
  const behaviours = [...plan.behaviours];
  for (const { name, probability, actions, behaviour } of furtherFaults) {
    const strikes = random.happens(probability);
    if (only ? !only.includes(name) : !strikes) continue;
    if (actions) insert(steps, actions(random), random);
    if (behaviour) change(behaviours, behaviour, random);
  }
  return { steps, behaviours };
}

function insert(steps: Step[], actions: readonly Action[], random: Random): void {
  let from = 0;
  for (const action of actions) {
    from = random.between(from, steps.length);
    steps.splice(from, 0, { afterMs: random.between(0, 10_000), ...action });
    from += 1;
  }
}

function change(behaviours: Behaviour[], to: Partial<Behaviour>, random: Random): void {
  for (const i of behaviours.keys()) {
    const before = behaviours[i];
    if (before && random.happens(0.7)) behaviours[i] = { ...before, ...to };
  }
}
