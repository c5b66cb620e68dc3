/** The work of an update, written down before it is done (docs/updates.md 4.2). */
type SwitchStep =
  /** The new version is whole beside the present one and is tested; the programs run on. */
  | "testing"
  /** The programs are stopped and the stores copied. */
  | "stopping"
  /** The copies are whole; the files that name the version are being written. */
  | "switching"
  /** The new programs run, or are to run, and admit nothing. */
  | "probation"
  /** The new version has failed or could not show itself: its programs are stopped. */
  | "giving-up"
  /** The stores, if need be, and the file that names the version are put back. */
  | "going-back"
  /** The programs of before are started; from here on they may take payments. */
  | "restarting"
  /** The new version stays; the mark of the probation goes. */
  | "staying"
  | "done"
  | "undone";

export interface SwitchState {
  readonly step: SwitchStep;
  /** Times that the probation was begun. */
  readonly probations: number;
  /** Why it went back, or has to; for people. */
  readonly why: string | null;
  /** The version itself failed here: it is not taken again by itself. */
  readonly bars: boolean;
  /** Of going back: the stores are put back too. */
  readonly withStores: boolean;
}

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

/**
 * The next state. Before `switching` nothing of the present version has changed, so whatever fails
 * ends there; from `switching` to `staying` the new version is run or the older one comes back.
 * Throws for an event that the step does not know: a fault of the program.
 */
export function nextSwitchState(state: SwitchState, event: SwitchEvent): SwitchState {
  switch (event.event) {
    case "carried-out":
      return { ...state, ...afterWork(state) };
    case "failed":
      return { ...state, ...afterFailure(state), why: event.why, bars: event.bars };
    case "cut":
      return { ...state, ...afterCut(state) };
    case "given-up":
      if (state.step !== "giving-up") return unknown(state, event);
      // News that came since must not be lost, and programs that cannot read it cannot come back.
      if (!event.received) return { ...state, step: "going-back", withStores: true };
      return { ...state, step: event.readableByOlder ? "going-back" : "staying" };
  }
}

function afterWork(state: SwitchState): Partial<SwitchState> {
  switch (state.step) {
    case "testing":
      return { step: "stopping" };
    case "stopping":
      return { step: "switching" };
    case "switching":
      return { step: "probation", probations: 1 };
    case "probation":
      return { step: "staying" };
    case "staying":
      return { step: "done" };
    case "going-back":
      return { step: "restarting" };
    case "restarting":
      return { step: "undone" };
    default:
      return unknown(state, { event: "carried-out" });
  }
}

function afterFailure({ step }: SwitchState): Partial<SwitchState> {
  if (step === "testing") return { step: "undone" };
  // Nothing was switched yet, and nothing has run on these stores.
  if (step === "stopping" || step === "switching") return { step: "going-back" };
  if (step === "probation") return { step: "giving-up" };
  return {};
}

function afterCut(state: SwitchState): Partial<SwitchState> {
  const why = `${state.step} was cut off`;
  switch (state.step) {
    case "testing":
      return { step: "undone", why };
    case "stopping":
      return { step: "going-back", why };
    case "probation":
      if (state.probations < PROBATIONS_MAX) return { probations: state.probations + 1 };
      return { step: "giving-up", why: `cut off ${PROBATIONS_MAX} times on its probation` };
    default:
      return {};
  }
}

function unknown({ step }: SwitchState, { event }: SwitchEvent): never {
  throw new Error(`an update in the step ${step} knows no ${event}`);
}
