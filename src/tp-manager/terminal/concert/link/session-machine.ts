import type { ConcertFaultCode } from "../../../../concert/index.ts";
import { unreachable } from "../../../../shared/invariant.ts";
import { control, type FrameRead, frameStart, readFrameByte, showsParity } from "./frame.ts";

/**
 * The cash register's state in the sessions with a terminal (docs/concert.md 2.4 to 2.7). {@link
 * advanceSession} is a pure function: a byte, timer or request goes in; bytes to write, one timer
 * and news come out.
 *
 * A session of ours is ENQ until ACK, one frame, EOT. A session that the terminal opens is accepted
 * in every phase, even instead of an answer to us, because a result may come at any time.
 */
export interface SessionState {
  /** How many ENQs were sent for a request that waits during the terminal's session; null: none. */
  readonly deferred: number | null;
  readonly phase: Phase;
}

/** The times of a session, in milliseconds (docs/concert.md 2.5). */
export const sessionTimes = {
  /** The longest wait for the answer to our ENQ or frame. */
  answerMs: 3_000,
  pauseMs: 1_000,
  /** How long a session that the terminal has granted us waits for our frame. */
  holdMs: 2_000,
  /** The longest silence in a session that the terminal opened: around or in its frame. */
  silenceMs: 3_000,
  /** How long the line must be quiet before a malformed frame is answered. */
  quietMs: 300,
};

const ENQ_TRIES = 3;
/** The largest number of times a frame is sent in one session, repeats after NAK included. */
const FRAME_SENDS = 3;
/** The largest number of times NAK asks for a malformed reply again in one session. */
const NAKS_MAX = 3;

type Phase =
  | { readonly is: "idle" }
  | { readonly is: "asking" | "pausing"; readonly tries: number; readonly sawParity: boolean }
  | { readonly is: "open" }
  | { readonly is: "sending"; readonly frame: Uint8Array; readonly sends: number }
  /** Each send of our frame got NAK, but one NAK may be noise: a late ACK is still awaited. */
  | { readonly is: "refused" }
  | { readonly is: "reading"; readonly incoming: Incoming; readonly frame: FrameRead }
  /** Skips the rest of a malformed reply. `last`: the faulty byte; null: more bytes followed. */
  | { readonly is: "malformed"; readonly incoming: Incoming; readonly last: number | null }
  /** "hearing": a frame may come. "judging": a body is being stored. "closing": ACK was sent. */
  | { readonly is: "hearing" | "judging" | "closing"; readonly incoming: Incoming };

type At<P extends Phase["is"]> = Extract<Phase, { is: P }>;

interface Incoming {
  /** Whether the session began before our request was answered: it is about an earlier payment. */
  readonly isEarly: boolean;
  readonly naks: number;
}

export type SessionInput =
  | { readonly input: "byte"; readonly byte: number }
  | { readonly input: "timer" }
  /** Asks for a session; allowed only while {@link isSessionFree}. */
  | { readonly input: "ask" }
  /** Sends a frame in the session that the terminal has granted us. */
  | { readonly input: "send"; readonly frame: Uint8Array }
  /** Closes our session without a frame, even if the terminal has not granted it yet. */
  | { readonly input: "leave" }
  | { readonly input: "lost" }
  /** Reports whether the reply that was passed on last is on disk. */
  | { readonly input: "judged"; readonly stored: boolean };

export type SessionNews =
  /** "lapsed": the open session was closed before our frame was sent in it. */
  | { readonly news: "opened" | "lapsed" }
  /** The terminal opened no session to us, so no frame has left. */
  | {
      readonly news: "not-opened";
      readonly why: "silent" | "busy";
      readonly sawParity: boolean;
    }
  /**
   * "taken": the frame got ACK. "refused": each send of the frame got NAK, so no payment has begun.
   * "unanswered": the terminal may have the frame.
   */
  | { readonly news: "taken" | "refused" | "unanswered" }
  | { readonly news: "body"; readonly body: Uint8Array; readonly isEarly: boolean }
  | { readonly news: "malformed"; readonly fault: ConcertFaultCode; readonly bytes: Uint8Array };

interface SessionStep {
  readonly state: SessionState;
  readonly write: readonly number[];
  /** A frame to write instead of the bytes in `write`. */
  readonly frame?: Uint8Array;
  /** The timer to start; null: stop the running timer; undefined: leave it running. */
  readonly timer?: keyof typeof sessionTimes | null;
  readonly news: readonly SessionNews[];
}

export const idleSession: SessionState = { deferred: null, phase: { is: "idle" } };

/** Returns whether we may ask for a session: none of our sessions is open or being opened. */
export function isSessionFree({ phase }: SessionState): boolean {
  return !["asking", "pausing", "open", "sending", "refused"].includes(phase.is);
}

/** Returns whether a byte with a parity bit came since we asked for a session. */
export function sawParity({ phase }: SessionState): boolean {
  return "sawParity" in phase && phase.sawParity;
}

export function advanceSession(state: SessionState, input: SessionInput): SessionStep {
  switch (input.input) {
    case "byte":
      return onByte(state, input.byte);
    case "timer":
      return onTimer(state);
    case "ask":
      if (state.phase.is === "idle") return ask(0, false);
      return stay({ ...state, deferred: state.deferred ?? 0 });
    case "send":
      return state.phase.is === "open"
        ? sendFrame(input.frame, 1)
        : stay(state, [{ news: "lapsed" }]);
    case "leave":
      return onLeave(state);
    case "judged":
      return onJudged(state, input.stored);
    case "lost":
      return onLost(state);
    default:
      return unreachable(input);
  }
}

/** Reports the part of a reply that was read before the line was lost, as evidence. */
function onLost({ phase }: SessionState): SessionStep {
  // A late ACK may be lost with the line, so the terminal may have the frame despite its NAKs.
  if (phase.is === "refused") return rest(null, [], [{ news: "unanswered" }]);
  return rest(null, [], phase.is === "reading" ? [malformed("truncated", phase.frame.body)] : []);
}

function onLeave(state: SessionState): SessionStep {
  const { is } = state.phase;
  if (is === "pausing") return rest(null);
  if (is === "open" || is === "asking") return rest(null, [control.eot]);
  return stay({ ...state, deferred: null });
}

function onByte(state: SessionState, byte: number): SessionStep {
  const { phase } = state;
  switch (phase.is) {
    case "idle":
    case "closing":
      return hear(state, byte, false);
    case "asking":
    case "pausing":
      return onAnswerToEnq(state, phase, byte);
    case "open":
      return byte === control.eot ? rest(null, [], [{ news: "lapsed" }]) : hear(state, byte, true);
    case "sending":
      return onAnswerToFrame(state, phase, byte);
    case "refused":
      // An ACK after NAKs to all sends: one NAK was noise, and the terminal has the frame.
      if (byte === control.ack) return rest(null, [], [{ news: "unanswered" }]);
      return opensSession(byte) ? insteadOfAnswer(byte) : stay(state);
    case "hearing":
      return hear(state, byte, phase.incoming.isEarly);
    case "malformed":
      // Every byte is skipped, because the check byte of the reply may equal any control byte.
      return skip(state, phase.incoming, null);
    case "reading":
      return onFrameByte(state, phase, byte);
    case "judging":
      return stay(state);
  }
}

/** Handles a byte where the terminal may open a session; all but ENQ, STX and EOT is noise. */
function hear(state: SessionState, byte: number, isEarly: boolean): SessionStep {
  const { phase } = state;
  const incoming = "incoming" in phase ? phase.incoming : { isEarly, naks: 0 };
  const deferred = phase.is === "open" ? 0 : state.deferred;
  if (byte === control.enq) {
    const isLate = phase.is === "closing" ? state.deferred !== null : incoming.isEarly;
    // ENQ begins a session, or repeats an ENQ whose ACK was lost: the count of NAKs restarts.
    const next: Phase = { is: "hearing", incoming: { isEarly: isLate, naks: 0 } };
    return go({ deferred, phase: next }, "silenceMs", [control.ack]);
  }
  if (byte === control.stx) {
    const next: Phase = { is: "reading", incoming, frame: frameStart };
    return go({ deferred, phase: next }, "silenceMs");
  }
  if (byte === control.eot && phase.is !== "idle") return rest(state.deferred);
  if (!showsParity(byte)) return stay(state);
  const news = [malformed("parity", Uint8Array.of(byte))];
  if (phase.is === "idle" || phase.is === "open") return stay(state, news);
  return skip({ ...state, deferred }, incoming, null, news);
}

function skip(
  state: SessionState,
  incoming: Incoming,
  last: number | null,
  news: readonly SessionNews[] = [],
): SessionStep {
  return go({ ...state, phase: { is: "malformed", incoming, last } }, "quietMs", [], news);
}

/** Handles quiet after a malformed reply; a faulty byte is a control byte only if it came last. */
function onQuiet(state: SessionState, { incoming, last }: At<"malformed">): SessionStep {
  if (last !== control.enq && last !== control.eot) return askAgain(state, incoming);
  const phase: Phase = { is: "hearing", incoming };
  return hear({ ...state, phase }, last, incoming.isEarly);
}

function onAnswerToEnq(state: SessionState, phase: At<"asking" | "pausing">, byte: number) {
  if (opensSession(byte)) return hear({ ...idleSession, deferred: phase.tries }, byte, true);
  if (phase.is === "asking" && byte === control.ack) {
    return go({ deferred: null, phase: { is: "open" } }, "holdMs", [], [{ news: "opened" }]);
  }
  if (phase.is === "asking" && byte === control.nak) return again(phase, "busy");
  if (!showsParity(byte)) return stay(state);
  return stay({ ...state, phase: { ...phase, sawParity: true } });
}

function onAnswerToFrame(state: SessionState, phase: At<"sending">, byte: number): SessionStep {
  if (opensSession(byte)) return insteadOfAnswer(byte);
  switch (byte) {
    case control.ack:
      return rest(null, [control.eot], [{ news: "taken" }]);
    case control.nak:
      if (phase.sends < FRAME_SENDS) return sendFrame(phase.frame, phase.sends + 1);
      return go({ deferred: null, phase: { is: "refused" } }, "answerMs", [control.eot]);
    case control.eot:
      return rest(null, [], [{ news: "unanswered" }]);
    default:
      return stay(state, showsParity(byte) ? [malformed("parity", Uint8Array.of(byte))] : []);
  }
}

function opensSession(byte: number): boolean {
  return byte === control.enq || byte === control.stx;
}

function insteadOfAnswer(byte: number): SessionStep {
  const step = hear(idleSession, byte, true);
  return { ...step, news: [{ news: "unanswered" }, ...step.news] };
}

function onFrameByte(state: SessionState, phase: At<"reading">, byte: number): SessionStep {
  const { incoming } = phase;
  const frame = readFrameByte(phase.frame, byte);
  if (frame.end === null) return go({ ...state, phase: { ...phase, frame } }, "silenceMs");
  if (frame.end === "whole") {
    const news: SessionNews = { news: "body", body: frame.body, isEarly: incoming.isEarly };
    return go({ ...state, phase: { is: "judging", incoming } }, null, [], [news]);
  }
  const news = [malformed(frame.end, frame.body)];
  // After a wrong check byte the frame is over; after any other fault the rest of it comes.
  return frame.end === "lrc" ? askAgain(state, incoming, news) : skip(state, incoming, byte, news);
}

function onJudged(state: SessionState, stored: boolean): SessionStep {
  const { phase } = state;
  if (phase.is !== "judging") return stay(state);
  if (!stored) return askAgain(state, phase.incoming);
  return go({ ...state, phase: { ...phase, is: "closing" } }, "silenceMs", [control.ack]);
}

/** Sends NAK to ask for the reply once more, but never more than {@link NAKS_MAX} times. */
function askAgain(state: SessionState, incoming: Incoming, news: readonly SessionNews[] = []) {
  const naks = incoming.naks + 1;
  const phase: Phase = { is: "hearing", incoming: { ...incoming, naks } };
  return go({ ...state, phase }, "silenceMs", naks <= NAKS_MAX ? [control.nak] : [], news);
}

function onTimer(state: SessionState): SessionStep {
  const { phase } = state;
  switch (phase.is) {
    case "asking":
      return again(phase, "silent");
    case "pausing":
      return ask(phase.tries, phase.sawParity);
    case "open":
      return rest(null, [control.eot], [{ news: "lapsed" }]);
    case "sending":
      return rest(null, [control.eot], [{ news: "unanswered" }]);
    case "reading":
      return askAgain(state, phase.incoming, [malformed("truncated", phase.frame.body)]);
    case "malformed":
      return onQuiet(state, phase);
    case "refused":
      return { ...rest(state.deferred), news: [{ news: "refused" }] };
    case "idle":
    case "hearing":
    case "judging":
    case "closing":
      return rest(state.deferred);
  }
}

function ask(tries: number, parity: boolean): SessionStep {
  const phase: Phase = { is: "asking", tries: tries + 1, sawParity: parity };
  return go({ deferred: null, phase }, "answerMs", [control.enq]);
}

/** Sends EOT and pauses after an ENQ without ACK; gives up after the last attempt. */
function again(phase: At<"asking" | "pausing">, why: "silent" | "busy"): SessionStep {
  const { tries, sawParity: parity } = phase;
  if (tries >= ENQ_TRIES) {
    return rest(null, [control.eot], [{ news: "not-opened", why, sawParity: parity }]);
  }
  return go({ deferred: null, phase: { ...phase, is: "pausing" } }, "pauseMs", [control.eot]);
}

function sendFrame(frame: Uint8Array, sends: number): SessionStep {
  return { ...go({ deferred: null, phase: { is: "sending", frame, sends } }, "answerMs"), frame };
}

/** Becomes idle, or sends ENQ for a request that waits, while attempts are left. */
function rest(
  deferred: number | null,
  write: readonly number[] = [],
  news: readonly SessionNews[] = [],
): SessionStep {
  if (deferred === null) return go(idleSession, null, write, news);
  if (deferred < ENQ_TRIES) return ask(deferred, false);
  return go(idleSession, null, [], [{ news: "not-opened", why: "busy", sawParity: false }]);
}

function malformed(fault: ConcertFaultCode, bytes: Uint8Array): SessionNews {
  return { news: "malformed", fault, bytes };
}

function go(
  state: SessionState,
  timer: keyof typeof sessionTimes | null,
  write: readonly number[] = [],
  news: readonly SessionNews[] = [],
): SessionStep {
  return { state, write, timer, news };
}

function stay(state: SessionState, news: readonly SessionNews[] = []): SessionStep {
  return { state, write: [], news };
}
