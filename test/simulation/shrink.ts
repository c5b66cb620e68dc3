import type { Behaviour, Plan } from "./plan.ts";
import { goodBehaviour } from "./plan.ts";
import { type Outcome, run } from "./run.ts";

const RUNS_MAX = 400;

/**
 * The smallest plan found that breaks the same sentence: drops steps and odd behaviours one after
 * the other, as long as it still does.
 */
export async function shrink(failing: Outcome): Promise<Outcome> {
  const sentence = failing.violations[0]?.invariant;
  let best = failing;
  let left = RUNS_MAX;
  for (let again = true; again && left > 0; ) {
    again = false;
    for (const plan of smaller(best.plan)) {
      if (left-- <= 0) break;
      const outcome = await run(plan);
      if (!outcome.violations.some(({ invariant }) => invariant === sentence)) continue;
      best = outcome;
      again = true;
      break;
    }
  }
  return best;
}

function* smaller(plan: Plan): Iterable<Plan> {
  const { steps, behaviours } = plan;
  for (const i of steps.keys()) {
    // Time goes on as before.
    const rest = steps.flatMap((step, at) => {
      if (at === i) return [];
      const afterMs = step.afterMs + (at === i + 1 ? (steps[i]?.afterMs ?? 0) : 0);
      return [{ ...step, afterMs }];
    });
    yield { ...plan, steps: rest };
  }
  for (const i of behaviours.keys()) {
    const change = (one: Behaviour): Plan => ({ ...plan, behaviours: behaviours.with(i, one) });
    const one = behaviours[i] ?? goodBehaviour;
    if (JSON.stringify(one) !== JSON.stringify(goodBehaviour)) yield change(goodBehaviour);
    if (one.lost) yield change({ ...one, lost: null });
    if (one.outcome !== "approve") yield change({ ...one, outcome: "approve" });
  }
  if (behaviours.length > 0 && behaviours.every((one) => one === goodBehaviour)) {
    yield { ...plan, behaviours: [] };
  }
}
