/**
 * The part of the session machine for our request to abort the running command (docs/zvt.md 5.2,
 * 6.6). Pure.
 */
import { encodeMessage } from "../../../../zvt/index.ts";
import type { SendOutcome } from "../link/apdu-link.ts";
import { stay } from "./answer-policy.ts";
import type {
  Abort,
  AbortAnswer,
  SessionContext,
  SessionOutput,
  SessionState,
  Step,
} from "./session-state.ts";

/** Abort 06 B0, docs/zvt.md 6.6: its answer only says that the request was taken. */
const abort = encodeMessage("abort");

export const noAbort: Abort = { state: "none", attempts: 0, unanswered: false };
/** An abort that collided with a message of the terminal leaves again (docs/zvt.md 2.5). */
const ABORT_ATTEMPTS_MAX = 3;

/** An answer to 06 B0 that comes this late would be taken for that of the next command. */
export const outOfSync: SessionOutput = {
  output: "out-of-sync",
  problem: "the terminal never answered an abort",
};

export function wantAbort(state: SessionState, context: SessionContext): Step {
  if (state.at !== "requested" && state.at !== "served") {
    return stay(state, { output: "abort-answer", answer: { answer: "nothing-running" } });
  }
  if (state.abort.state === "wanted" || state.abort.state === "sent") return stay(state);
  const { unanswered } = state.abort;
  return trySendAbort({ ...state, abort: { state: "wanted", attempts: 0, unanswered } }, context);
}

/** An abort leaves only while the terminal is master and no message of ours is on the link. */
export function trySendAbort(state: SessionState, { linkFree }: SessionContext): Step {
  if (state.at !== "served" || state.abort.state !== "wanted" || !linkFree) return stay(state);
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
  if (!due) return stay(state);
  if (outcome.outcome === "delivered") {
    return stay(state, { output: "start-timer", timer: "abort", ms: timers.t3Ms });
  }
  const isCollision = outcome.outcome === "collided" && state.at === "served";
  if (isCollision && state.abort.attempts < ABORT_ATTEMPTS_MAX) {
    return stay({ ...state, abort: { ...state.abort, state: "wanted" } });
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
    return { state: { at: "idle" }, outputs: unanswered ? [...outputs, outOfSync] : outputs };
  }
  if (state.at !== "served") return stay(state);
  return { state: { ...state, abort: { ...state.abort, state: "answered", unanswered } }, outputs };
}
