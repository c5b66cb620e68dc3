/**
 * The dialogue of docs/zvt.md 1.3, 5.2 as a pure function: one command from the request until the
 * terminal is idle again. `session.ts` performs the outputs, and has the timers and the line.
 *
 *   idle -> requested -> served -> idle          a command with a completion
 *   idle -> requested -> idle                    a command that an answer ends, or a refusal
 *              served -> draining -> idle        the end came before the answer to our abort
 */
import { encodeMessage, type Message, tagValue } from "../../../../zvt/index.ts";
import type { Command } from "../commands/commands.ts";
import type { SendOutcome } from "../link/apdu-link.ts";
import {
  decided,
  holdOver,
  malformed,
  note,
  outOfSync,
  servedMessage,
  stay,
  unsolicited,
  verdict,
} from "./message-machine.ts";
import type {
  Abort,
  AbortAnswer,
  ExchangeEnd,
  MessageInput,
  Served,
  SessionContext,
  SessionInput,
  SessionOutput,
  SessionState,
  SessionTimer,
  Step,
} from "./session-state.ts";

export const initialState: SessionState = { at: "idle" };

export function step(state: SessionState, input: SessionInput, context: SessionContext): Step {
  const next = react(state, input, context);
  const answers = answeredId(state, input);
  if (answers === undefined) return next;
  const outputs = next.outputs.map((output) =>
    output.output === "send" && output.what === "answer" ? { ...output, answers } : output,
  );
  return { state: next.state, outputs };
}

function answeredId(state: SessionState, input: SessionInput): string | undefined {
  if (input.input === "message" || input.input === "verdict") {
    return tagValue(input.message.tags, "messageSequence");
  }
  const held = state.at === "served" ? state.goods?.report : undefined;
  return held && tagValue(held.tags, "messageSequence");
}

function react(state: SessionState, input: SessionInput, context: SessionContext): Step {
  switch (input.input) {
    case "command":
      return begin(state, input.command);
    case "abort":
      return wantAbort(state, context);
    case "sent":
      if (input.what === "command") return commandSent(state, input.outcome, context);
      if (input.what === "abort") return abortSent(state, input.outcome, context);
      return answerSent(state, input.outcome, context);
    case "message":
      return message(state, input, context);
    case "malformed":
      return malformed(state);
    case "verdict":
      return verdict(state, input);
    case "goods":
      return decided(state, input.decision);
    case "timeout":
      return timeout(state, input.timer, context);
    case "down":
      return lost(state, input.problem);
  }
}

function begin(state: SessionState, command: Command): Step {
  if (state.at !== "idle") {
    const problem = "another command is running";
    return stay(state, { output: "end", end: { end: "not-sent", problem } });
  }
  const requested = { at: "requested", command, abort: noAbort, copies: 1 } as const;
  return stay(requested, { output: "send", what: "command", apdu: command.apdu });
}

function commandSent(state: SessionState, outcome: SendOutcome, { timers }: SessionContext): Step {
  if (state.at !== "requested") return stay(state);
  switch (outcome.outcome) {
    case "not-begun":
      return ended(state, { end: "not-sent", problem: outcome.problem });
    case "no-ack":
      return lost(state, "the terminal sent no ACK of the command");
    case "broken":
      return lost(state, outcome.problem);
    case "delivered":
    case "collided": {
      // T3, the limit for the answer, begins when the command has been sent.
      const waiting = { output: "start-timer", timer: "t3", ms: timers.t3Ms } as const;
      return stay({ ...state, copies: outcome.copies }, waiting);
    }
  }
}

function answerSent(state: SessionState, outcome: SendOutcome, context: SessionContext): Step {
  if (outcome.outcome === "no-ack" || outcome.outcome === "broken") {
    // The terminal may have our answer although its ACK is missing (docs/zvt.md 2.4).
    if (state.at === "served") return lost(state, "the terminal sent no ACK of our answer");
  }
  return trySendAbort(state, context);
}

function message(state: SessionState, input: MessageInput, context: SessionContext): Step {
  const { name } = input.message;
  const noted = input.problem === null ? [] : [note(`unreadable ${name}: ${input.problem}`)];
  const isAnswer = [0x80, 0x84].includes(input.message.control >> 8);
  const next = isAnswer
    ? answerArrived(state, input.message, context)
    : state.at === "served"
      ? servedMessage(state, input)
      : unsolicited(state, input);
  return { state: next.state, outputs: [...noted, ...next.outputs] };
}

/** Handles an answer: 80 00 and 84 00 accept, every other 84 xx refuses (docs/zvt.md 4.1). */
function answerArrived(state: SessionState, reply: Message, context: SessionContext): Step {
  const good = reply.name !== "negative-acknowledgement" && reply.name !== "currency-refused";
  if (state.at === "requested") {
    if (!good && state.command.judged && state.copies > 1) {
      // The terminal may carry out the first copy and refuse the repeat (docs/rules/03-repeats.md).
      return lost(state, "the terminal refused a command that had left more than once");
    }
    if (!good) return ended(state, { end: "refused", message: reply });
    if (state.command.ends === "answer") return ended(state, { end: "answered", message: reply });
    return accepted(state, context);
  }
  const due = state.at === "draining" || (state.at === "served" && state.abort.state === "sent");
  if (!due) {
    const late = state.at === "served" && state.abort.unanswered;
    const next = late ? { ...state, abort: { ...state.abort, unanswered: false } } : state;
    return stay(next, note(`the terminal answered without a command: ${reply.name}`));
  }
  const code = reply.control & 0xff;
  return abortAnswered(state, good ? { answer: "taken" } : { answer: "refused", code });
}

function accepted(
  { command, abort }: Extract<SessionState, { at: "requested" }>,
  context: SessionContext,
): Step {
  const { t4Ms } = context.timers;
  const served: Served = { at: "served", command, t4Ms, abort, accepted: false, goods: null };
  const { state, outputs } = trySendAbort(served, context);
  const waiting = { output: "start-timer", timer: "t4", ms: t4Ms } as const;
  return stay(state, { output: "stop-timer", timer: "t3" }, waiting, ...outputs);
}

function timeout(state: SessionState, timer: SessionTimer, context: SessionContext): Step {
  switch (timer) {
    case "t3":
      if (state.at !== "requested") return stay(state);
      return lost(state, `no answer within ${context.timers.t3Ms} ms`);
    case "t4":
      if (state.at !== "served") return stay(state);
      return lost(state, `the terminal fell silent for ${state.t4Ms} ms`);
    case "abort":
      return abortAnswered(state, { answer: "no-answer", text: "no answer to the abort" });
    case "goods":
      return holdOver(state);
  }
}

function lost(state: SessionState, problem: string): Step {
  const outputs: SessionOutput[] = [];
  const isRunning = "abort" in state;
  if (state.at === "draining" || (isRunning && ["wanted", "sent"].includes(state.abort.state))) {
    outputs.push({ output: "abort-answer", answer: { answer: "no-answer", text: problem } });
  }
  if (isRunning) outputs.push({ output: "end", end: { end: "lost", problem } });
  return { state: { at: "idle" }, outputs: [...stopTimers, ...outputs] };
}

const timerNames: readonly SessionTimer[] = ["t3", "t4", "abort", "goods"];
const stopTimers = timerNames.map((timer) => ({ output: "stop-timer", timer }) as const);

function ended({ abort }: Extract<SessionState, { at: "requested" }>, end: ExchangeEnd): Step {
  const outputs: SessionOutput[] = [...stopTimers, { output: "end", end }];
  if (abort.state === "wanted") {
    outputs.push({ output: "abort-answer", answer: { answer: "nothing-running" } });
  }
  return { state: { at: "idle" }, outputs };
}

/** Abort 06 B0. Its answer never says how the payment ended (docs/zvt.md 6.6). */
const abort = encodeMessage("abort");

const noAbort: Abort = { state: "none", attempts: 0, unanswered: false };
/** How often an abort is sent at most if terminal messages collide with it (docs/zvt.md 2.5). */
const ABORT_ATTEMPTS_MAX = 3;

function wantAbort(state: SessionState, context: SessionContext): Step {
  if (state.at !== "requested" && state.at !== "served") {
    return stay(state, { output: "abort-answer", answer: { answer: "nothing-running" } });
  }
  if (state.abort.state === "wanted" || state.abort.state === "sent") return stay(state);
  const { unanswered } = state.abort;
  return trySendAbort({ ...state, abort: { state: "wanted", attempts: 0, unanswered } }, context);
}

/** Sends a requested abort once the terminal is master and the link is free. */
function trySendAbort(state: SessionState, { linkFree }: SessionContext): Step {
  if (state.at !== "served" || state.abort.state !== "wanted" || !linkFree) return stay(state);
  const attempts = state.abort.attempts + 1;
  return {
    state: { ...state, abort: { ...state.abort, state: "sent", attempts } },
    outputs: [{ output: "send", what: "abort", apdu: abort }],
  };
}

function abortSent(state: SessionState, outcome: SendOutcome, { timers }: SessionContext): Step {
  const due = state.at === "draining" || (state.at === "served" && state.abort.state === "sent");
  if (!due) return stay(state);
  if (outcome.outcome === "delivered") {
    return stay(state, { output: "start-timer", timer: "abort", ms: timers.t3Ms });
  }
  const isCollision = outcome.outcome === "collided" && state.at === "served";
  if (isCollision && state.abort.attempts < ABORT_ATTEMPTS_MAX) {
    return stay({ ...state, abort: { ...state.abort, state: "wanted" } });
  }
  const text = "the terminal sent no ACK of the abort";
  return abortAnswered(state, { answer: "no-answer", text });
}

function abortAnswered(state: SessionState, answer: AbortAnswer): Step {
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
