import { Random } from "../../support/inputs/random.ts";
import type { Action, Behaviour, Plan, Step } from "../plan.ts";
import { goodBehaviour } from "../plan.ts";
import {
  type OneWayBehaviour,
  type OneWayFault,
  type OneWayKind,
  oneWayFaults,
} from "./one-way-kinds.ts";

/** Seeds from here on are runs of terminals that cannot be asked. */
export const ONE_WAY_SEEDS = 1_000_000_000;

const KINDS: readonly OneWayKind[] = [
  { protocol: "concert", isBare: false, echoes: true },
  { protocol: "concert", isBare: false, echoes: false },
  { protocol: "caisse-ap", isBare: false, echoes: true },
  { protocol: "caisse-ap", isBare: true, echoes: true },
  { protocol: "caisse-ap", isBare: true, echoes: false },
];
/** Delayed until a next payment, which has to come on the same line. */
const needsLine: readonly OneWayFault[] = [
  "result within the next payment",
  "result in place of an ACK",
];
/** Strikes only where an order of another amount came before. */
const needsBoth: readonly OneWayFault[] = [
  "reference of another order",
  "reference of another order",
];
const MINUTE_MS = 60_000;

/** The run of a seed: a few orders, each with about one fault of the terminal. */
export function oneWayPlanOf(seed: number): Plan {
  const random = new Random(seed);
  const kind = random.pick(KINDS);
  const orders = random.between(1, 4);
  const amounts = [random.pick([999, 500]), random.pick([999, 1_250]), 999, 100];
  const steps: Step[] = [];
  for (let i = 0; i < orders; i++) {
    steps.push(...aboutOrder(random, `order-${i + 1}`, amounts[i] ?? 999));
  }
  if (random.happens(0.3)) insert(steps, random, { do: "approves-by-itself" });
  if (random.happens(0.1)) insert(steps, random, { do: "operator-settles" });
  const count = random.between(1, orders + 2);
  const behaviours = Array.from({ length: count }, () => behaviour(random, kind));
  return { seed, usedTerminal: false, behaviours, wireMs: [], steps, oneWay: kind };
}

function aboutOrder(random: Random, order: string, amountMinor: number): Step[] {
  const pay = (afterMs: number, more = 0): Step => ({
    afterMs,
    do: "pay",
    order,
    amountMinor: amountMinor + more,
    goodsSeconds: null,
    patienceMs: random.happens(0.15) ? random.between(1, 8_000) : null,
  });
  const steps = random.happens(0.2) ? [{ afterMs: soon(random), ...disturbance(random) }] : [];
  steps.push(pay(later(random)));
  if (random.happens(0.5)) steps.push({ afterMs: soon(random), ...disturbance(random) });
  if (random.happens(0.3)) steps.push({ afterMs: soon(random), ...call(random, order) });
  if (random.happens(0.4)) steps.push(pay(random.between(1, 400_000)));
  if (random.happens(0.08)) steps.push(pay(soon(random), 1));
  return steps;
}

/** Calls that such a terminal knows nothing of are among them: nothing may leave. */
const call = (random: Random, order: string): Action =>
  random.pick([
    { do: "cancel" },
    { do: "reverse", order },
    { do: "end-of-day" },
    { do: "look-up", order },
  ] as const);

function insert(steps: Step[], random: Random, action: Action): void {
  steps.splice(random.between(0, steps.length), 0, { afterMs: soon(random), ...action });
}

const soon = (random: Random): number =>
  random.weighted([
    [2, 0],
    [2, random.between(1, 500)],
    [4, random.between(1, 10_000)],
    [1, random.between(1, 240_000)],
  ]);

/** Mostly when the order before has had its time, so that most orders begin. */
const later = (random: Random): number =>
  random.happens(0.3) ? soon(random) : random.between(MINUTE_MS, 5 * MINUTE_MS);

function behaviour(random: Random, kind: OneWayKind): Behaviour {
  const drawn = random.happens(0.15)
    ? "none"
    : random.pick([...oneWayFaults, ...needsBoth, ...needsLine, ...needsBoth]);
  const fault: OneWayBehaviour["fault"] =
    drawn !== "none" && isPossible(kind, drawn) ? drawn : "none";
  const isLate = fault === "result after the 504";
  const customerMs = isLate
    ? random.between(3.5 * MINUTE_MS, 7 * MINUTE_MS)
    : random.happens(0.2)
      ? random.between(1, 100_000)
      : random.between(1, 6_000);
  const oneWay = { fault, charges: random.happens(0.8), ms: random.between(10, 30_000) };
  return { ...goodBehaviour, customerMs, oneWay };
}

/** Without a name in a reply no other can be named; with a connection for each, nothing waits. */
function isPossible({ echoes, isBare }: OneWayKind, fault: OneWayFault): boolean {
  if (needsBoth.includes(fault)) return echoes;
  return echoes || !isBare || !needsLine.includes(fault);
}

function disturbance(random: Random): Action {
  const [writes, ms] = [random.between(1, 12), random.between(0, 5_000)];
  const when = random.pick(["before", "after"] as const);
  return random.weighted<Action>([
    [5, { do: "crash", ms }],
    [4, { do: "crash-at-write", writes, when, ms }],
    [1, { do: "supervisor-crash", ms: random.between(0, 30_000) }],
    [2, { do: "disk-full", afterWrites: random.between(0, 10), writes: random.between(1, 6) }],
    [1, { do: "disk-unreadable", reads: random.between(1, 4) }],
    [3, { do: "line-down", ms: random.between(10, 120_000) }],
    [2, { do: "reboot" }],
    [1, { do: "terminal-locked", ms: random.between(1_000, 2 * MINUTE_MS) }],
    [1, { do: "stop", ms }],
    [1, { do: "clock-jump", ms: random.pick([-1, 1]) * random.between(1, 6) * 60 * MINUTE_MS }],
    [1, { do: "ipc", mode: "lost-answer", ms: random.between(10, MINUTE_MS) }],
    [1, { do: "gateway", mode: "lost-answer", ms: random.between(10, 10 * MINUTE_MS) }],
  ]);
}
