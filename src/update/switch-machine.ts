import type { SwitchRecord } from "./update-state.ts";

type SwitchStep = SwitchRecord["step"];

type SwitchState = Pick<SwitchRecord, "step" | "probations" | "why" | "bars" | "withStores">;

export type SwitchEvent =
  | { readonly event: "carried-out" }
  /** The work of a step failed. `bars`: the programs of the new version were at fault. */
  | { readonly event: "failed"; readonly why: string; readonly bars: boolean }
  /** The process that worked on the switch has ended, by a power cut or a limit of the system. */
  | { readonly event: "cut" }
  /** The new programs have stopped; the fields say if payments came and older programs can run. */
  | {
      readonly event: "given-up";
      readonly received: boolean;
      readonly readableByOlder: boolean;
    }
  /** A version that the rest of the switch needs is missing, so the version that exists runs. */
  | { readonly event: "version-missing"; readonly why: string }
  /** The version of a finished switch is given up: by an operator, or because it crashes. */
  | { readonly event: "go-back"; readonly why: string };

/** After this number of interrupted probations the previous version comes back. */
const PROBATIONS_MAX = 3;

export const switchBegins: SwitchState = {
  step: "testing",
  probations: 0,
  why: null,
  bars: false,
  withStores: false,
};

/** The step that follows when the work of a step is done; steps not listed end in other ways. */
const afterWork: Readonly<Partial<Record<SwitchStep, SwitchStep>>> = {
  testing: "stopping",
  stopping: "switching",
  switching: "probation",
  probation: "staying",
  staying: "done",
  "going-back": "restarting",
  restarting: "undone",
};

/** The step that follows when the work of a step fails; steps not listed are tried again. */
const afterFailure: Readonly<Partial<Record<SwitchStep, SwitchStep>>> = {
  testing: "undone",
  // The file `current` still names the present version, and no other program used the databases.
  stopping: "going-back",
  switching: "going-back",
  probation: "giving-up",
};

/**
 * Returns the record with its next step. Before `switching` the present version is unchanged, so a
 * failure ends the switch. From `switching` to `staying` a failure brings the previous version
 * back. Throws for an event that the step cannot have, which is a fault of the program.
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
      // Databases with payments of the probation stay, and the previous version must read them.
      if (!event.received) return { ...record, step: "going-back", withStores: true };
      return { ...record, step: event.readableByOlder ? "going-back" : "staying" };
    case "version-missing":
      return { ...record, step: "undone", why: event.why, bars: false };
    case "go-back":
      if (step !== "done") return unknown(record, event);
      // The present databases stay, because they may hold payments of the new version.
      return { ...record, step: "giving-up", why: event.why, bars: true, withStores: false };
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
  throw new Error(`an update in the step ${step} allows no event ${event}`);
}
