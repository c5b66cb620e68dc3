import { Random } from "../../support/inputs/random.ts";
import { type Action, type Behaviour, goodBehaviour, type Plan, type Step } from "../plan.ts";
import { byIdFaults } from "./by-id-kinds.ts";

/** Seeds from here on are runs of terminals that are asked by id. */
export const BY_ID_SEEDS = 2_000_000_000;

const MINUTE_MS = 60_000;

/** The run of a seed: a few orders, each with about one fault of terminal, line or process. */
export function byIdPlanOf(seed: number): Plan {
  const random = new Random(seed);
  const orders = random.between(1, 4);
  const steps: Step[] = [];
  for (let i = 0; i < orders; i++) {
    const amountMinor = random.pick([999, 500]);
    steps.push(...aboutOrder(random, `order-${i + 1}`, amountMinor));
  }
  if (random.happens(0.1)) steps.push({ afterMs: soon(random), do: "operator-settles" });
  const count = random.between(1, orders + 2);
  const behaviours = Array.from({ length: count }, () => behaviour(random));
  return { seed, usedTerminal: false, behaviours, wireMs: [], steps, byId: true };
}

function aboutOrder(random: Random, order: string, amountMinor: number): Step[] {
  const pay = (afterMs: number): Step => ({
    afterMs,
    do: "pay",
    order,
    amountMinor,
    goodsSeconds: null,
    patienceMs: random.happens(0.15) ? random.between(1, 8_000) : null,
  });
  const steps = random.happens(0.2) ? [{ afterMs: soon(random), ...disturbance(random) }] : [];
  steps.push(pay(random.happens(0.3) ? soon(random) : random.between(MINUTE_MS, 5 * MINUTE_MS)));
  if (random.happens(0.5)) steps.push({ afterMs: soon(random), ...disturbance(random) });
  if (random.happens(0.4)) steps.push({ afterMs: soon(random), ...call(random, order) });
  if (random.happens(0.4)) steps.push(pay(random.between(1, 400_000)));
  return steps;
}

const call = (random: Random, order: string): Action =>
  random.pick([{ do: "cancel" }, { do: "reverse", order }, { do: "look-up", order }] as const);

const soon = (random: Random): number =>
  random.weighted([
    [2, 0],
    [2, random.between(1, 500)],
    [4, random.between(1, 10_000)],
    [1, random.between(1, 240_000)],
  ]);

function behaviour(random: Random): Behaviour {
  const fault = random.happens(0.2) ? "none" : random.pick(byIdFaults);
  const customerMs = random.happens(0.2) ? random.between(1, 100_000) : random.between(1, 6_000);
  return { ...goodBehaviour, customerMs, byId: { fault, ms: random.between(10, 30_000) } };
}

function disturbance(random: Random): Action {
  const [writes, ms] = [random.between(1, 12), random.between(0, 5_000)];
  const when = random.pick(["before", "after"] as const);
  return random.weighted<Action>([
    [5, { do: "crash", ms }],
    [5, { do: "crash-at-write", writes, when, ms }],
    [1, { do: "supervisor-crash", ms: random.between(0, 30_000) }],
    [2, { do: "disk-full", afterWrites: random.between(0, 10), writes: random.between(1, 6) }],
    [1, { do: "disk-unreadable", reads: random.between(1, 4) }],
    [3, { do: "line-down", ms: random.between(10, 120_000) }],
    [2, { do: "reboot" }],
    [1, { do: "stop", ms }],
    [1, { do: "clock-jump", ms: random.pick([-1, 1]) * random.between(1, 6) * 60 * MINUTE_MS }],
    [1, { do: "ipc", mode: "lost-answer", ms: random.between(10, MINUTE_MS) }],
    [1, { do: "gateway", mode: "lost-answer", ms: random.between(10, 10 * MINUTE_MS) }],
  ]);
}
