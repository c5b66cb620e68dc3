import { answerOf } from "../../src/tp-manager/orders/answer.ts";
import type { End } from "./end.ts";
import { type Violation, violations } from "./invariants.ts";
import type { KioskAnswer } from "./kiosk.ts";
import type { Plan } from "./plan.ts";
import { World } from "./world.ts";

export interface Outcome {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  /** Faults that really struck. */
  readonly struck: readonly string[];
  /** How each order ended, by its status. */
  readonly ends: readonly string[];
  /** What happened, for a person. */
  readonly timeline: readonly string[];
}

/** Runs one plan to its end and looks at every invariant. The same plan gives the same outcome. */
export async function run(plan: Plan): Promise<Outcome> {
  const world = new World(plan);
  const onFall = (error: unknown): void => world.fell(error);
  process.on("unhandledRejection", onFall);
  try {
    for (const { afterMs, ...action } of plan.steps) {
      await world.clock.advance(afterMs);
      world.act(action);
    }
    await world.settle();
    const end = endOf(world, plan);
    return {
      plan,
      violations: violations(end),
      struck: [...world.struck],
      ends: end.orders.map((order) => end.found.get(order)?.status ?? "never begun"),
      timeline: timeline(world),
    };
  } finally {
    world.close();
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", onFall);
  }
}

function endOf(world: World, plan: Plan): End {
  const orders = [...new Set(plan.steps.flatMap((step) => ("order" in step ? [step.order] : [])))];
  const found = new Map<string, KioskAnswer>();
  const atMs = world.clock.monotonicMs();
  for (const order of orders) {
    const attempt = world.tpManager?.journal.attempts.decisive(order);
    if (!attempt) continue;
    const { http, body } = answerOf(attempt, null);
    const { status, error } = body;
    const { state, request, transactionId } = attempt;
    const charged = error?.charged ?? (status === "Success" ? "yes" : "unknown");
    const amountMinor =
      state.phase === "charged" ? (state.report.amountMinor ?? request.amountMinor) : null;
    found.set(order, {
      order,
      call: "final look-up",
      askedAtMs: atMs,
      atMs,
      http,
      status,
      charged,
      code: error?.code ?? null,
      transactionId,
      amountMinor,
    });
  }
  return { world, plan, orders, found };
}

function timeline({ kiosk, bank, gateway, log }: World): string[] {
  const lines = [
    ...kiosk.answers.map(({ atMs, order, call, status, code, charged, transactionId }) => ({
      atMs,
      text: `${call} ${order} -> ${status} ${code ?? ""} ${charged} ${transactionId ?? ""}`,
    })),
    ...bank.movements.map(({ atMs, kind, order, amountMinor, sale, asked }) => ({
      atMs,
      text: `bank: ${kind} ${order} ${amountMinor} (sale ${sale}${asked ? ", asked" : ""})`,
    })),
    ...(gateway.account?.entries ?? []),
  ].sort((a, b) => a.atMs - b.atMs);
  return [
    ...lines.map(({ atMs, text }) => `${atMs} ${text}`),
    ...gateway.orders.map(({ orderId, transactionId }) => `gateway: ${orderId} ${transactionId}`),
    ...log.lines,
  ];
}
