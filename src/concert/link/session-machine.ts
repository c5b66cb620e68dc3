import { unreachable } from "../../shared/invariant.ts";
import type { ConcertFaultCode } from "../errors.ts";
import { control, type FrameRead, frameStart, readFrameByte, showsParity } from "./frame.ts";

/**
 * The register's side of the sessions on a serial line (docs/concert.md 2.4 to 2.7). Pure: bytes,
 * timers and wishes go in, one at a time; bytes to write, one timer and news come out.
 *
 * Our own session: ENQ until ACK, one frame, EOT. The terminal's own session is taken in every
 * phase, because a result may come at any time, also in the place of an answer to us.
 */
export interface SessionTimes {
  /** From ENQ, or a frame, to its answer. */
  readonly answerMs: number;
  /** Between two tries of ENQ. */
  readonly pauseMs: number;
  /** How long a session that the terminal has opened to us waits for our frame. */
  readonly holdMs: number;
  /** Longest silence in the terminal's session: before its frame, inside it, before EOT. */
  readonly silenceMs: number;
  /** The line is quiet for so long before a spoilt frame is answered. */
  readonly quietMs: number;
}

export const ENQ_TRIES = 3;
/** Frames sent in one session, the repeats after NAK included. */
export const FRAME_SENDS = 3;
/** Spoilt replies that are asked for again in one session. */
const NAKS_MAX = 3;

export type SessionState = {
  /** A wish to speak that the terminal's own session has put off; tries so far. */
  readonly wish: number | null;
  readonly phase: Phase;
};

type Phase =
  | { readonly is: "idle" }
  | { readonly is: "asking"; readonly tries: number; readonly sawParity: boolean }
  | { readonly is: "pausing"; readonly tries: number; readonly sawParity: boolean }
  | { readonly is: "open" }
  | { readonly is: "sending"; readonly frame: Uint8Array; readonly sends: number }
  /** Every send got NAK, unless one NAK was noise and the answer to a frame is still to come. */
  | { readonly is: "refused" }
  /** The terminal may speak. */
  | { readonly is: "hearing"; readonly heard: Heard }
  | { readonly is: "reading"; readonly heard: Heard; readonly frame: FrameRead }
  /** The rest of a spoilt reply is on its way; `last`: the byte that broke it, unless more came. */
  | { readonly is: "spoilt"; readonly heard: Heard; readonly last: number | null }
  /** A whole body is being stored. */
  | { readonly is: "judging"; readonly heard: Heard }
  /** The terminal has our acknowledgement. */
  | { readonly is: "closing"; readonly heard: Heard };

interface Heard {
  /** The session began where an answer to us was due, so its reply is of something earlier. */
  readonly unasked: boolean;
  readonly naks: number;
}

export type SessionInput =
  | { readonly input: "byte"; readonly byte: number }
  | { readonly input: "timer" }
  /** Ask to speak; only while nothing else of ours runs. */
  | { readonly input: "ask" }
  /** Send a frame in the session that is open. */
  | { readonly input: "send"; readonly frame: Uint8Array }
  /** Close the session that is open or asked for, without a frame. */
  | { readonly input: "leave" }
  /** The line is gone. */
  | { readonly input: "lost" }
  /** Whether the body that was told is stored. */
  | { readonly input: "judged"; readonly stored: boolean };

export type SessionNews =
  | { readonly news: "opened" }
  /** The terminal did not let us speak; nothing was asked for. */
  | {
      readonly news: "not-opened";
      readonly why: "silent" | "busy";
      readonly sawParity: boolean;
    }
  /** The open session was closed because nothing was sent in it. */
  | { readonly news: "lapsed" }
  | { readonly news: "taken" }
  /** Every send of the frame got NAK: nothing has begun. */
  | { readonly news: "refused" }
  /** The terminal may have the frame or not. */
  | { readonly news: "unanswered" }
  | { readonly news: "body"; readonly body: Uint8Array; readonly unasked: boolean }
  | { readonly news: "spoilt"; readonly fault: ConcertFaultCode; readonly bytes: Uint8Array };

export interface SessionStep {
  readonly state: SessionState;
  readonly write: readonly number[];
  /** The frame to write instead, in one piece. */
  readonly frame?: Uint8Array;
  /** A new timer in the place of the former one; null: none; undefined: the former one stays. */
  readonly timerMs?: number | null;
  readonly news: readonly SessionNews[];
}

export const idleSession: SessionState = { wish: null, phase: { is: "idle" } };

/** Nothing of ours is under way but perhaps a wish that was put off: a wish may be told. */
export function isSessionFree({ phase }: SessionState): boolean {
  return !["asking", "pausing", "open", "sending", "refused"].includes(phase.is);
}

/** Whether a control byte came with a parity bit since we ask to speak. */
export function sawParity({ phase }: SessionState): boolean {
  return "sawParity" in phase && phase.sawParity;
}

export function advanceSession(
  state: SessionState,
  input: SessionInput,
  times: SessionTimes,
): SessionStep {
  switch (input.input) {
    case "byte":
      return onByte(state, input.byte, times);
    case "timer":
      return onTimer(state, times);
    case "ask":
      return state.phase.is === "idle"
        ? ask(0, false, times)
        : stay({ ...state, wish: state.wish ?? 0 });
    case "send":
      if (state.phase.is !== "open") return stay(state, [{ news: "lapsed" }]);
      return sendFrame(input.frame, 1, times);
    case "leave":
      return onLeave(state, times);
    case "judged":
      return onJudged(state, input.stored, times);
    case "lost":
      return onLost(state, times);
    default:
      return unreachable(input);
  }
}

/** The part of a reply that was read is evidence all the same. */
function onLost({ phase }: SessionState, times: SessionTimes): SessionStep {
  // An answer that is still to come cannot be heard any more.
  if (phase.is === "refused") return { ...rest(null, times), news: [{ news: "unanswered" }] };
  const news: SessionNews[] =
    phase.is === "reading" ? [{ news: "spoilt", fault: "truncated", bytes: phase.frame.body }] : [];
  return { ...rest(null, times), news };
}

function onLeave(state: SessionState, times: SessionTimes): SessionStep {
  const { is } = state.phase;
  if (is !== "open" && is !== "asking" && is !== "pausing") return stay({ ...state, wish: null });
  return { ...rest(null, times), write: is === "pausing" ? [] : [control.eot] };
}

function onByte(state: SessionState, byte: number, times: SessionTimes): SessionStep {
  const { phase } = state;
  switch (phase.is) {
    case "idle":
    case "closing":
      return hear(state, byte, false, times);
    case "asking":
    case "pausing":
      return onAnswerToEnq(state, phase, byte, times);
    case "open":
      return byte === control.eot
        ? { ...rest(null, times), news: [{ news: "lapsed" }] }
        : hear(state, byte, true, times);
    case "sending":
      return onAnswerToFrame(state, phase, byte, times);
    case "refused":
      return onWordAfterNak(state, byte, times);
    case "hearing":
      return hear(state, byte, phase.heard.unasked, times);
    case "spoilt":
      // Also its check byte, which may have the value of any control byte.
      return spoil(state, phase.heard, null, times);
    case "reading":
      return onFrameByte(state, phase, byte, times);
    case "judging":
      return stay(state);
    default:
      return unreachable(phase);
  }
}

/** A byte where the terminal may begin to speak. Anything else is noise. */
function hear(
  state: SessionState,
  byte: number,
  unasked: boolean,
  times: SessionTimes,
): SessionStep {
  const { phase } = state;
  const heard = "heard" in phase ? phase.heard : { unasked, naks: 0 };
  const wish = phase.is === "open" ? 0 : state.wish;
  const timerMs = times.silenceMs;
  if (byte === control.enq) {
    // A new session, or the same one whose ACK was lost: the count of spoilt replies begins anew.
    const late = phase.is === "closing" ? state.wish !== null : heard.unasked;
    const next: Phase = { is: "hearing", heard: { unasked: late, naks: 0 } };
    return { state: { wish, phase: next }, write: [control.ack], timerMs, news: [] };
  }
  if (byte === control.stx) {
    const next: Phase = { is: "reading", heard, frame: frameStart };
    return { state: { wish, phase: next }, write: [], timerMs, news: [] };
  }
  if (byte === control.eot && phase.is !== "idle") return rest(state.wish, times);
  if (!showsParity(byte)) return stay(state);
  const news: SessionNews[] = [{ news: "spoilt", fault: "parity", bytes: Uint8Array.of(byte) }];
  if (phase.is === "idle" || phase.is === "open") return stay(state, news);
  return { ...spoil({ ...state, wish }, heard, null, times), news };
}

/** The rest of a spoilt reply passes unread. */
function spoil(
  state: SessionState,
  heard: Heard,
  last: number | null,
  times: SessionTimes,
): SessionStep {
  const spoilt: SessionState = { ...state, phase: { is: "spoilt", heard, last } };
  return { ...stay(spoilt), timerMs: times.quietMs };
}

/**
 * The line is quiet again. The byte that broke the reply was the terminal's own word only when
 * nothing came behind it.
 */
function onQuiet(
  state: SessionState,
  { heard, last }: Extract<Phase, { is: "spoilt" }>,
  times: SessionTimes,
): SessionStep {
  if (last !== control.enq && last !== control.eot) return askAgain(state, heard, times);
  const hearing: SessionState = { ...state, phase: { is: "hearing", heard } };
  return hear(hearing, last, heard.unasked, times);
}

function onAnswerToEnq(
  state: SessionState,
  phase: Extract<Phase, { is: "asking" | "pausing" }>,
  byte: number,
  times: SessionTimes,
): SessionStep {
  if (byte === control.enq || byte === control.stx) {
    const put = { wish: phase.tries, phase: { is: "idle" as const } };
    return hear(put, byte, true, times);
  }
  if (phase.is === "asking") {
    if (byte === control.ack) {
      const open: SessionState = { wish: null, phase: { is: "open" } };
      return { state: open, write: [], timerMs: times.holdMs, news: [{ news: "opened" }] };
    }
    if (byte === control.nak) return again(phase, "busy", times);
  }
  if (!showsParity(byte)) return stay(state);
  return stay({ ...state, phase: { ...phase, sawParity: true } });
}

function onAnswerToFrame(
  state: SessionState,
  phase: Extract<Phase, { is: "sending" }>,
  byte: number,
  times: SessionTimes,
): SessionStep {
  switch (byte) {
    case control.ack:
      return { ...rest(null, times), write: [control.eot], news: [{ news: "taken" }] };
    case control.nak:
      if (phase.sends < FRAME_SENDS) return sendFrame(phase.frame, phase.sends + 1, times);
      return {
        state: { wish: null, phase: { is: "refused" } },
        write: [control.eot],
        timerMs: times.answerMs,
        news: [],
      };
    case control.eot:
      return { ...rest(null, times), news: [{ news: "unanswered" }] };
    case control.enq:
    case control.stx: {
      const heard = hear({ wish: null, phase: { is: "idle" } }, byte, true, times);
      return { ...heard, news: [{ news: "unanswered" }, ...heard.news] };
    }
    default: {
      const news: SessionNews[] = [{ news: "spoilt", fault: "parity", bytes: Uint8Array.of(byte) }];
      return stay(state, showsParity(byte) ? news : []);
    }
  }
}

/**
 * An ACK makes it more answers than frames: one NAK was none, and the terminal has the frame. A
 * terminal that speaks by itself may do so in the place of that answer.
 */
function onWordAfterNak(state: SessionState, byte: number, times: SessionTimes): SessionStep {
  if (byte === control.ack) return { ...rest(null, times), news: [{ news: "unanswered" }] };
  if (byte !== control.enq && byte !== control.stx) return stay(state);
  const heard = hear({ wish: null, phase: { is: "idle" } }, byte, true, times);
  return { ...heard, news: [{ news: "unanswered" }, ...heard.news] };
}

function onFrameByte(
  state: SessionState,
  phase: Extract<Phase, { is: "reading" }>,
  byte: number,
  times: SessionTimes,
): SessionStep {
  const { heard } = phase;
  const frame = readFrameByte(phase.frame, byte);
  if (frame.end === null) {
    const next: SessionState = { ...state, phase: { ...phase, frame } };
    return { state: next, write: [], timerMs: times.silenceMs, news: [] };
  }
  if (frame.end === "whole") {
    const news: SessionNews[] = [{ news: "body", body: frame.body, unasked: heard.unasked }];
    return { state: { ...state, phase: { is: "judging", heard } }, write: [], timerMs: null, news };
  }
  const news: SessionNews[] = [{ news: "spoilt", fault: frame.end, bytes: frame.body }];
  // A wrong check byte ends the frame; after any other fault its rest is still on the way.
  if (frame.end === "lrc") return { ...askAgain(state, heard, times), news };
  return { ...spoil(state, heard, byte, times), news };
}

function onJudged(state: SessionState, stored: boolean, times: SessionTimes): SessionStep {
  const { phase } = state;
  if (phase.is !== "judging") return stay(state);
  const { heard } = phase;
  if (!stored) return askAgain(state, heard, times);
  const closing: SessionState = { ...state, phase: { is: "closing", heard } };
  return { state: closing, write: [control.ack], timerMs: times.silenceMs, news: [] };
}

/** NAK asks for the reply once more; after a few the terminal is left alone. */
function askAgain(state: SessionState, heard: Heard, times: SessionTimes): SessionStep {
  const naks = heard.naks + 1;
  const hearing: SessionState = { ...state, phase: { is: "hearing", heard: { ...heard, naks } } };
  const write = naks <= NAKS_MAX ? [control.nak] : [];
  return { state: hearing, write, timerMs: times.silenceMs, news: [] };
}

function onTimer(state: SessionState, times: SessionTimes): SessionStep {
  const { phase } = state;
  switch (phase.is) {
    case "asking":
      return again(phase, "silent", times);
    case "pausing":
      return ask(phase.tries, phase.sawParity, times);
    case "open":
      return { ...rest(null, times), write: [control.eot], news: [{ news: "lapsed" }] };
    case "sending":
      return { ...rest(null, times), write: [control.eot], news: [{ news: "unanswered" }] };
    case "reading": {
      const bytes = phase.frame.body;
      const news: SessionNews[] = [{ news: "spoilt", fault: "truncated", bytes }];
      return { ...askAgain(state, phase.heard, times), news };
    }
    case "spoilt":
      return onQuiet(state, phase, times);
    case "refused":
      return { ...rest(state.wish, times), news: [{ news: "refused" }] };
    case "idle":
    case "hearing":
    case "judging":
    case "closing":
      return rest(state.wish, times);
    default:
      return unreachable(phase);
  }
}

function ask(tries: number, sawParity: boolean, times: SessionTimes): SessionStep {
  const phase: Phase = { is: "asking", tries: tries + 1, sawParity };
  return { state: { wish: null, phase }, write: [control.enq], timerMs: times.answerMs, news: [] };
}

/** EOT and a pause after a try of ENQ in vain, or the end of the tries. */
function again(
  { tries, sawParity }: Extract<Phase, { is: "asking" | "pausing" }>,
  why: "silent" | "busy",
  times: SessionTimes,
): SessionStep {
  const write = [control.eot];
  if (tries >= ENQ_TRIES) {
    return { ...rest(null, times), write, news: [{ news: "not-opened", why, sawParity }] };
  }
  const phase: Phase = { is: "pausing", tries, sawParity };
  return { state: { wish: null, phase }, write, timerMs: times.pauseMs, news: [] };
}

function sendFrame(frame: Uint8Array, sends: number, times: SessionTimes): SessionStep {
  const phase: Phase = { is: "sending", frame, sends };
  return { state: { wish: null, phase }, write: [], frame, timerMs: times.answerMs, news: [] };
}

/** Idle again; a wish that was put off is taken up. */
function rest(wish: number | null, times: SessionTimes): SessionStep {
  if (wish === null) return { state: idleSession, write: [], timerMs: null, news: [] };
  if (wish < ENQ_TRIES) return ask(wish, false, times);
  const news: SessionNews[] = [{ news: "not-opened", why: "busy", sawParity: false }];
  return { state: idleSession, write: [], timerMs: null, news };
}

function stay(state: SessionState, news: readonly SessionNews[] = []): SessionStep {
  return { state, write: [], news };
}
