import type { Plan } from "./plan.ts";

export interface Doubtful {
  readonly order: string;
}

const blinding = ["not-told", "replace-terminal", "end-of-day", "accept-terminal", "stray-sale"];
const unclear = ["other-amount", "no-result-code", "report-then-abort-kept", "no-report"];

/**
 * Whether something in the plan can take the evidence away, so that an order may stay unknown: the
 * terminal was replaced, does not tell, forgot; or it charged something else than was asked, which
 * recovery cannot tell from another sale.
 */
export function mayStayUnknown({ steps, behaviours }: Plan, _doubtful: Doubtful): boolean {
  return (
    steps.some((step) => blinding.includes(step.do)) ||
    behaviours.some(({ outcome }) => unclear.includes(outcome))
  );
}
