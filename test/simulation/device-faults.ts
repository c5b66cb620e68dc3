import type { ModelDevice } from "./model-device.ts";
import { OneWayDevice } from "./one-way/one-way-device.ts";
import type { TerminalFault } from "./plan.ts";

const faults = [
  "terminal-locked",
  "answers-late",
  "answers-stale",
  "spells-numbers",
  "terminal-forgets",
  "numbers-start-over",
  "closes-by-itself",
  "approves-by-itself",
] as const satisfies ReadonlyArray<TerminalFault["do"]>;

export const isTerminalFault = (action: { readonly do: string }): action is TerminalFault =>
  faults.some((fault) => fault === action.do);

/** Has a terminal do it from now on; what lasts ends by itself. */
export function suffer(device: ModelDevice, fault: TerminalFault, nowMs: number): void {
  const { habits } = device;
  switch (fault.do) {
    case "terminal-locked":
      habits.lockedUntilMs = nowMs + fault.ms;
      return;
    case "answers-late":
      habits.late = { byMs: fault.byMs, untilMs: nowMs + fault.ms };
      return;
    case "answers-stale":
      habits.staleUntilMs = nowMs + fault.ms;
      return;
    case "spells-numbers":
      habits.spells = { as: fault.spelling, untilMs: nowMs + fault.ms };
      return;
    case "terminal-forgets":
      void device.emptyItself(null);
      return;
    case "numbers-start-over":
      void device.emptyItself("all");
      return;
    case "closes-by-itself":
      void device.emptyItself("receipts");
      return;
    case "approves-by-itself":
      if (device instanceof OneWayDevice) device.approveByItself();
      return;
  }
}
