import type { SwitchRecord } from "./update-state.ts";

type SwitchStep = SwitchRecord["step"];

/** The members of the record that its steps change. */
type SwitchState = Pick<SwitchRecord, "step" | "probations" | "why" | "bars" | "withStores">;

export type SwitchEvent =
  | { readonly event: "carried-out" }
  /** `bars`: the programs of the new version were at fault, not power or the terminal. */
  | { readonly event: "failed"; readonly why: string; readonly bars: boolean }
  /** A process that worked on it has ended: a power cut, or a limit of the system. */
  | { readonly event: "cut" }
  /** The new programs have stopped; may the older ones have their stores, or go on with these? */
  | {
      readonly event: "given-up";
      readonly received: boolean;
      readonly readableByOlder: boolean;
    };

/** A new version that is cut off so often on its probation goes back. */
const PROBATIONS_MAX = 3;

export const switchBegins: SwitchState = {
  step: "testing",
  probations: 0,
  why: null,
  bars: false,
  withStores: false,
};

/** The next step when the work of a step is done; a step that is missing has no such work. */
const afterWork: Readonly<Partial<Record<SwitchStep, SwitchStep>>> = {
  testing: "stopping",
  stopping: "switching",
  switching: "probation",
  probation: "staying",
  staying: "done",
  "going-back": "restarting",
  restarting: "undone",
};

/** The next step when the work of a step has failed; one that is missing is tried again. */
const afterFailure: Readonly<Partial<Record<SwitchStep, SwitchStep>>> = {
  testing: "undone",
  // Nothing was switched yet, and nothing has run on these stores.
  stopping: "going-back",
  switching: "going-back",
  probation: "giving-up",
};

/**
 * Returns the record with its next step. Before `switching` nothing of the present version has
 * changed, so whatever fails ends there; from `switching` to `staying` the new version is run or
 * the older one comes back. Throws for an event that the step does not know: a fault of the
 * program.
 */
export function nextSwitchState<S extends SwitchState>(record: S, event: SwitchEvent): S {
  const { step, probations } = record;
  switch (event.event) {
    case "carried-out": {
      const next = afterWork[step] ?? unknown(record, event);
      return { ...record, step: next, probations: next === "probation" ? 1 : probations };
    }
    case "failed": {
      const { why, bars } = event;
      return { ...record, step: afterFailure[step] ?? step, why, bars };
    }
    case "cut":
      return { ...record, ...afterCut(record) };
    case "given-up":
      if (step !== "giving-up") return unknown(record, event);
      // What came since must not be lost, and programs that cannot read the stores cannot run.
      if (!event.received) return { ...record, step: "going-back", withStores: true };
      return { ...record, step: event.readableByOlder ? "going-back" : "staying" };
  }
}

function afterCut({ step, probations }: SwitchState): Partial<SwitchState> {
  const why = `${step} was cut off`;
  switch (step) {
    case "testing":
      return { step: "undone", why };
    case "stopping":
      return { step: "going-back", why };
    case "probation":
      if (probations < PROBATIONS_MAX) return { probations: probations + 1 };
      return { step: "giving-up", why: `cut off ${PROBATIONS_MAX} times on its probation` };
    default:
      return {};
  }
}

function unknown({ step }: SwitchState, { event }: SwitchEvent): never {
  throw new Error(`an update in the step ${step} knows no ${event}`);
}
