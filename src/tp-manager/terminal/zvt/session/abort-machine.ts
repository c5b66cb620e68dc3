/**
 * Our request to abort the running command (docs/zvt.md 5.2, 6.6), as the session machine sees it.
 */
import type { SendOutcome } from "../link/apdu-link.ts";
import type {
  Abort,
  AbortAnswer,
  SessionContext,
  SessionOutput,
  SessionState,
  Step,
} from "./session-state.ts";

export const noAbort: Abort = { state: "none", attempts: 0, unanswered: false };
/** An abort that collided with a message of the terminal leaves again (docs/zvt.md 2.5). */
const ABORT_ATTEMPTS_MAX = 3;

/** An answer to 06 B0 that comes this late would be taken for that of the next command. */
export const outOfStep: SessionOutput = {
  output: "out-of-step",
  problem: "the terminal never answered an abort",
};

export function wantAbort(state: SessionState, context: SessionContext): Step {
  if (state.at !== "requested" && state.at !== "served") {
    return { state, outputs: [{ output: "abort-answer", answer: { answer: "nothing-running" } }] };
  }
  if (state.abort.state === "wanted" || state.abort.state === "sent") return { state, outputs: [] };
  const { unanswered } = state.abort;
  return trySendAbort({ ...state, abort: { state: "wanted", attempts: 0, unanswered } }, context);
}

/** docs/zvt.md 5.2, 6.6: only while the terminal serves, and when our own line is free. */
export function trySendAbort(state: SessionState, { abort, linkFree }: SessionContext): Step {
  if (state.at !== "served" || state.abort.state !== "wanted" || !linkFree) {
    return { state, outputs: [] };
  }
  const attempts = state.abort.attempts + 1;
  return {
    state: { ...state, abort: { ...state.abort, state: "sent", attempts } },
    outputs: [{ output: "send", what: "abort", apdu: abort }],
  };
}

export function abortSent(
  state: SessionState,
  outcome: SendOutcome,
  { timers }: SessionContext,
): Step {
  const due = state.at === "draining" || (state.at === "served" && state.abort.state === "sent");
  if (!due) return { state, outputs: [] };
  if (outcome.outcome === "delivered") {
    return { state, outputs: [{ output: "start-timer", timer: "abort", ms: timers.t3Ms }] };
  }
  if (
    outcome.outcome === "collided" &&
    state.at === "served" &&
    state.abort.attempts < ABORT_ATTEMPTS_MAX
  ) {
    return { state: { ...state, abort: { ...state.abort, state: "wanted" } }, outputs: [] };
  }
  return abortAnswered(state, { answer: "no-answer", text: "the abort did not get through" });
}

export function abortAnswered(state: SessionState, answer: AbortAnswer): Step {
  const outputs: SessionOutput[] = [
    { output: "stop-timer", timer: "abort" },
    { output: "abort-answer", answer },
  ];
  const unanswered = answer.answer === "no-answer";
  if (state.at === "draining") {
    return { state: { at: "idle" }, outputs: unanswered ? [...outputs, outOfStep] : outputs };
  }
  if (state.at !== "served") return { state, outputs: [] };
  return { state: { ...state, abort: { ...state.abort, state: "answered", unanswered } }, outputs };
}
