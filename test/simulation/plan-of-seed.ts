import { Random } from "../support/inputs/random.ts";
import { BY_ID_SEEDS, byIdPlanOf } from "./by-id/by-id-plan.ts";
import { withFurtherFaults } from "./further-faults.ts";
import { ONE_WAY_SEEDS, oneWayPlanOf } from "./one-way/one-way-plan.ts";
import { type Action, type Behaviour, moments, outcomes, type Plan, type Step } from "./plan.ts";

/** The run of a seed: a few orders with about as many faults as orders. */
export function planOf(seed: number): Plan {
  if (seed >= BY_ID_SEEDS) return byIdPlanOf(seed);
  if (seed >= ONE_WAY_SEEDS) return oneWayPlanOf(seed);
  const random = new Random(seed);
  const orders = random.between(1, 4);
  const amounts = [random.pick([999, 500]), random.pick([999, 1250]), 999, 100];
  const steps: Step[] = [];
  for (let i = 0; i < orders; i++) {
    const order = `order-${i + 1}`;
    const amountMinor = amounts[i] ?? 999;
    const goodsSeconds = random.happens(0.2) ? random.between(5, 30) : null;
    steps.push(...aboutOrder(random, { order, amountMinor, goodsSeconds }));
  }
  if (random.happens(0.5))
    steps.push({ afterMs: random.between(1, 60_000), do: "look-up", order: "order-1" });
  const usedTerminal = random.happens(0.85);
  const behaviours = Array.from({ length: random.between(0, orders + 2) }, () => behaviour(random));
  const { wireMs, steps: all } = edges(new Random(seed + EDGES), orders, steps);
  return { seed, usedTerminal, wireMs, ...withFurtherFaults(seed, { steps: all, behaviours }) };
}

/** Drawn apart, so that the rest of a seed's plan does not depend on it. */
const EDGES = 1_000_000_007;

function edges(
  random: Random,
  orders: number,
  before: readonly Step[],
): Pick<Plan, "wireMs" | "steps"> {
  const waits = (): number => (random.happens(0.15) ? random.between(1, 4_000) : 0);
  const wireMs = Array.from({ length: orders + 2 }, waits);
  const steps = [...before];
  const insert = (action: Action): void => {
    const at = random.between(0, steps.length);
    steps.splice(at, 0, { afterMs: soon(random), ...action });
  };
  if (wireMs.some((ms) => ms > 0) && random.happens(0.6)) insert({ do: "cancel" });
  if (random.happens(0.12)) {
    const withoutAck = random.pick(["reversed", "kept", "reversed-late"] as const);
    insert({ do: "unmatched-sale", withoutAck });
  }
  if (random.happens(0.12)) insert({ do: "demand" });
  return { wireMs, steps };
}

type Sale = Pick<Extract<Action, { do: "pay" }>, "order" | "amountMinor" | "goodsSeconds">;

function aboutOrder(random: Random, sale: Sale): Step[] {
  const steps: Step[] = [];
  const faults = random.weighted([
    [3, 0],
    [4, 1],
    [2, 2],
  ]);
  const pay = (afterMs: number, change: Partial<Sale> = {}): Step => ({
    afterMs,
    do: "pay",
    ...sale,
    ...change,
    patienceMs: random.happens(0.15) ? random.between(1, 8_000) : null,
  });
  for (let i = 0; i < faults; i++) {
    const fault = disturbance(random);
    // Before the payment, or while it runs.
    if (random.happens(0.5)) steps.push({ afterMs: soon(random), ...fault });
    else if (i === 0) steps.push(pay(soon(random)), { afterMs: soon(random), ...fault });
    else steps.push({ afterMs: soon(random), ...fault });
  }
  steps.push(pay(soon(random)));
  const { order, amountMinor, goodsSeconds } = sale;
  if (random.happens(0.25)) steps.push(pay(soon(random)));
  if (random.happens(0.08)) steps.push(pay(soon(random), { amountMinor: amountMinor + 1 }));
  if (random.happens(0.15)) steps.push({ afterMs: soon(random), do: "cancel" });
  if (goodsSeconds !== null && random.happens(0.85)) {
    const part = random.weighted([
      [4, null],
      [2, 0],
      [1, 50],
    ]);
    steps.push({ afterMs: random.between(2_000, 20_000), do: "deliver", order, amountMinor: part });
    if (random.happens(0.3)) {
      steps.push({
        afterMs: soon(random),
        do: "deliver",
        order,
        amountMinor: random.pick([null, 0]),
      });
    }
  }
  if (random.happens(0.3)) steps.push(pay(random.between(1, 400_000)));
  if (random.happens(0.25)) {
    steps.push({ afterMs: random.between(1, 60_000), do: "reverse", order });
    if (random.happens(0.4)) steps.push({ afterMs: soon(random), do: "reverse", order });
    if (random.happens(0.3)) steps.push({ afterMs: soon(random), ...disturbance(random) });
    if (random.happens(0.3)) steps.push(pay(random.between(1, 250_000)));
  }
  return steps;
}

const soon = (random: Random): number =>
  random.weighted([
    [2, 0],
    [3, random.between(1, 500)],
    [4, random.between(1, 10_000)],
    [1, random.between(1, 240_000)],
  ]);

function behaviour(random: Random): Behaviour {
  const outcome = random.happens(0.65) ? "approve" : random.pick(outcomes);
  const lost = random.happens(0.45)
    ? {
        at: random.pick(moments),
        how: random.pick(["line", "silence"] as const),
        ms: random.between(10, 90_000),
      }
    : null;
  return {
    outcome,
    customerMs: random.happens(0.2) ? random.between(1, 100_000) : random.between(1, 6_000),
    lost,
    withoutAck: random.pick(["reversed", "kept", "reversed-late"] as const),
    numbersOriginal: true,
    printsCount: random.happens(0.5),
    cancel: random.pick(["taken", "refused", "ignored", "taken-but-approves"] as const),
  };
}

function disturbance(random: Random): Action {
  const writes = random.between(1, 12);
  const when = random.pick(["before", "after"] as const);
  const ms = random.between(0, 5_000);
  return random.weighted<Action>([
    [4, { do: "crash-at-write", writes, when, ms }],
    [4, { do: "crash", ms }],
    [2, { do: "supervisor-crash", ms: random.between(0, 30_000) }],
    [2, { do: "supervisor-crash-at-write", writes: random.between(1, 6), when, ms }],
    [3, { do: "disk-full", afterWrites: random.between(0, 10), writes: random.between(1, 6) }],
    [
      1,
      {
        do: "supervisor-disk-full",
        afterWrites: random.between(0, 5),
        writes: random.between(1, 4),
      },
    ],
    [1, { do: "disk-unreadable", reads: random.between(1, 4) }],
    [3, { do: "line-down", ms: random.between(10, 120_000) }],
    [2, { do: "reboot" }],
    [1, { do: "not-told", ms: random.between(1_000, 400_000) }],
    [1, { do: "end-of-day" }],
    [1, { do: "replace-terminal" }],
    [1, { do: "accept-terminal" }],
    [
      2,
      {
        do: "ipc",
        mode: random.pick(["down", "slow", "lost-answer"]),
        ms: random.between(10, 60_000),
      },
    ],
    [2, { do: "gateway", mode: random.pick(gatewayModes), ms: random.between(10, 600_000) }],
    [2, { do: "clock-jump", ms: random.pick([-1, 1]) * random.between(1, 6) * 3_600_000 }],
    [2, { do: "cancel" }],
    [1, { do: "stop", ms }],
  ]);
}

const gatewayModes = [
  "unreachable",
  "unavailable",
  "lost-answer",
  "server-error",
  "credentials-refused",
] as const;
