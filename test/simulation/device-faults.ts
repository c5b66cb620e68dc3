import type { ModelDevice } from "./model-device.ts";
import type { TerminalFault } from "./plan.ts";

const faults = [
  "terminal-locked",
  "answers-late",
  "answers-stale",
  "spells-numbers",
  "terminal-forgets",
  "numbers-start-over",
  "closes-by-itself",
] as const satisfies ReadonlyArray<TerminalFault["do"]>;

export const isTerminalFault = (action: { readonly do: string }): action is TerminalFault =>
  faults.some((fault) => fault === action.do);

/** Has a terminal do it from now on; what lasts ends by itself. False: nothing happened. */
export function suffer(device: ModelDevice, fault: TerminalFault, nowMs: number): boolean {
  switch (fault.do) {
    case "terminal-locked":
      device.lockedUntilMs = nowMs + fault.ms;
      return true;
    case "answers-late":
      device.late = { byMs: fault.byMs, untilMs: nowMs + fault.ms };
      return true;
    case "answers-stale":
      device.staleUntilMs = nowMs + fault.ms;
      return true;
    case "spells-numbers":
      device.spelling = { is: fault.spelling, untilMs: nowMs + fault.ms };
      return true;
    case "terminal-forgets":
      return device.forget(null);
    case "numbers-start-over":
      return device.forget("all");
    case "closes-by-itself":
      return device.forget("receipts");
  }
}
