/**
 * The dialogue of zvt.md 1 and 5 as a pure function: what happens to one command from the moment it
 * is wanted until the terminal is idle again. No I/O, no timers; `session.ts` performs the outputs.
 *
 *   idle -> requested -> served -> idle          a command with a completion
 *   idle -> requested -> idle                    a command that an answer ends, or a refusal
 *              served -> draining -> idle        the end came before the answer to our abort
 */
import type { Apdu, Message } from "../codec/index.ts";
import type { Command } from "../commands/command.ts";
import type { SendOutcome } from "../link/apdu-link.ts";
import { accept, answer, note, processingError, unknownCommand } from "./answer-policy.ts";
import { askedAgain, decided, hold, holdOver, isApproval, isSameSale } from "./goods-machine.ts";
import type {
  Abort,
  AbortAnswer,
  ExchangeEnd,
  Sending,
  Served,
  SessionContext,
  SessionInput,
  SessionOutput,
  SessionState,
  SessionTimer,
  Step,
} from "./session-state.ts";

export const initialState: SessionState = { at: "idle" };

const noAbort: Abort = { state: "none", attempts: 0, unanswered: false };
/** An abort that collided with a message of the terminal leaves again (zvt.md 2.5). */
const ABORT_ATTEMPTS_MAX = 3;

export function step(state: SessionState, input: SessionInput, context: SessionContext): Step {
  switch (input.input) {
    case "command":
      return begin(state, input.command);
    case "abort":
      return wantAbort(state, context);
    case "sent":
      return sent(state, input.what, input.outcome, context);
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
    return { state, outputs: [{ output: "end", end: { end: "not-sent", problem } }] };
  }
  return {
    state: { at: "requested", command, abort: noAbort, copies: 1 },
    outputs: [{ output: "send", what: "command", apdu: command.apdu }],
  };
}

function wantAbort(state: SessionState, context: SessionContext): Step {
  if (state.at !== "requested" && state.at !== "served") {
    return { state, outputs: [{ output: "abort-answer", answer: { answer: "nothing-running" } }] };
  }
  if (state.abort.state === "wanted" || state.abort.state === "sent") return { state, outputs: [] };
  const { unanswered } = state.abort;
  return trySendAbort({ ...state, abort: { state: "wanted", attempts: 0, unanswered } }, context);
}

/** zvt.md 5.2, 6.6: only while the terminal serves, and when our own line is free. */
function trySendAbort(state: SessionState, { abort, linkFree }: SessionContext): Step {
  if (state.at !== "served" || state.abort.state !== "wanted" || !linkFree) {
    return { state, outputs: [] };
  }
  const attempts = state.abort.attempts + 1;
  return {
    state: { ...state, abort: { ...state.abort, state: "sent", attempts } },
    outputs: [{ output: "send", what: "abort", apdu: abort }],
  };
}

function sent(
  state: SessionState,
  what: Sending,
  outcome: SendOutcome,
  context: SessionContext,
): Step {
  switch (what) {
    case "command":
      return commandSent(state, outcome, context);
    case "abort":
      return abortSent(state, outcome, context);
    case "answer":
      return answerSent(state, outcome, context);
  }
}

function commandSent(state: SessionState, outcome: SendOutcome, { timers }: SessionContext): Step {
  if (state.at !== "requested") return { state, outputs: [] };
  switch (outcome.outcome) {
    case "not-begun":
      return ended(state, { end: "not-sent", problem: outcome.problem });
    case "unacknowledged":
      return lost(state, "the terminal did not acknowledge the command");
    case "broken":
      return lost(state, outcome.problem);
    case "delivered":
    case "collided": {
      // The clock of an answer runs when the question is out.
      const waiting = { output: "start-timer", timer: "t3", ms: timers.t3Ms } as const;
      return { state: { ...state, copies: outcome.copies }, outputs: [waiting] };
    }
  }
}

function abortSent(state: SessionState, outcome: SendOutcome, { timers }: SessionContext): Step {
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

function answerSent(state: SessionState, outcome: SendOutcome, context: SessionContext): Step {
  if (outcome.outcome === "unacknowledged" || outcome.outcome === "broken") {
    // zvt.md 2.4: a transmission error; what the terminal makes of it is unknown.
    if (state.at === "served") return lost(state, "the terminal did not acknowledge our answer");
  }
  return trySendAbort(state, context);
}

type MessageInput = Extract<SessionInput, { input: "message" }>;

function message(state: SessionState, input: MessageInput, context: SessionContext): Step {
  const { name } = input.message;
  const noted = input.problem === null ? [] : [note(`unreadable ${name}: ${input.problem}`)];
  const isAnswer = input.message.control >> 8 === 0x80 || input.message.control >> 8 === 0x84;
  const next = isAnswer
    ? answerArrived(state, input.message, context)
    : state.at === "served"
      ? servedMessage(state, input)
      : unsolicited(state, input);
  return { state: next.state, outputs: [...noted, ...next.outputs] };
}

/** zvt.md 4.1: 80 00 and 84 00 are good, 84 xx is a refusal. */
function answerArrived(state: SessionState, reply: Message, context: SessionContext): Step {
  const good = reply.name !== "negative-acknowledgement" && reply.name !== "currency-refused";
  if (state.at === "requested") {
    if (!good && state.command.judged && state.copies > 1) {
      // DESIGN 3.1 rule 3: perhaps of the repeat only, while the first copy is carried out.
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
    return { state: next, outputs: [note(`an answer to nothing: ${reply.name}`)] };
  }
  return abortAnswered(
    state,
    good ? { answer: "taken" } : { answer: "refused", code: reply.control & 0xff },
  );
}

function accepted(
  { command, abort }: Extract<SessionState, { at: "requested" }>,
  context: SessionContext,
): Step {
  const { t4Ms } = context.timers;
  const served: Served = { at: "served", command, t4Ms, abort, accepted: null, goods: null };
  const aborting = trySendAbort(served, context);
  return {
    state: aborting.state,
    outputs: [
      { output: "stop-timer", timer: "t3" },
      { output: "start-timer", timer: "t4", ms: t4Ms },
      ...aborting.outputs,
    ],
  };
}

function abortAnswered(state: SessionState, answer: AbortAnswer): Step {
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

function servedMessage(before: Served, input: MessageInput): Step {
  const { name } = input.message;
  const arrived: SessionOutput[] = [];
  let state = before;
  if (state.accepted !== null && provesAcknowledgement.includes(name)) {
    state = { ...state, accepted: null };
    arrived.push({ output: "acknowledged" });
  }
  if (name === "completion" || name === "status-completion") {
    return prefixed(arrived, over(state, { end: "completed", message: input.message }));
  }
  if (name === "abort-from-pt") {
    return prefixed(arrived, over(state, { end: "aborted", message: input.message }));
  }
  const t4Ms = newT4(state, input.message);
  const waiting: SessionOutput = { output: "start-timer", timer: "t4", ms: t4Ms };
  return prefixed([...arrived, waiting], reply({ ...state, t4Ms }, input));
}

/**
 * DESIGN 3.1 rule 2: what a terminal sends only after our 80 00 to its 04 0F has arrived. One that
 * missed it reverses (zvt.md 9.1), and says so with 04 FF, another 04 0F and 06 1E.
 */
const provesAcknowledgement: readonly string[] = [
  "completion",
  "status-completion",
  "print-line",
  "print-text-block",
];

/** zvt.md 5.1, 7.2: the time-out byte of 04 FF sets T4; zero is seen and means nothing. */
function newT4(state: Served, { name, parts }: Message): number {
  const minutes = name === "intermediate-status" ? (parts.timeoutMinutes ?? 0) : 0;
  return minutes > 0 ? minutes * 60_000 : state.t4Ms;
}

function reply(state: Served, { message: arrived, problem, bytes }: MessageInput): Step {
  if (arrived.name === "status-information" && isSettlement(arrived) && !state.command.judged) {
    // A job of the terminal's own (zvt.md 6.5): its totals are no sale.
    return { state, outputs: [{ output: "deliver", message: arrived }, answer(accept)] };
  }
  if (arrived.name === "unknown" || !state.command.replies.includes(arrived.name)) {
    return notAllowed(state, arrived);
  }
  if (arrived.name === "status-information") {
    if (problem !== null) return unreadableReport(state, bytes);
    if (state.goods && isSameSale(state.goods, arrived)) return askedAgain(state, bytes);
    if (state.command.judged) {
      // Whatever it turns out to be: an earlier one is not the last word any more.
      const outputs = [{ output: "judge", message: arrived, bytes } as const];
      return { state: { ...state, accepted: null }, outputs };
    }
  }
  return { state, outputs: [{ output: "deliver", message: arrived }, answer(accept)] };
}

/**
 * What cannot be read cannot be stored, and must not be acknowledged where that commits a sale
 * (zvt.md 9.1). Totals and repeats commit nothing; a sale that waits for its goods waits on.
 */
function unreadableReport(state: Served, bytes: string): Step {
  if (state.goods?.decision === null) return askedAgain(state, bytes);
  if (!state.command.judged) return { state, outputs: [answer(accept)] };
  return { state, outputs: [answer(processingError), ...unjudged(state)] };
}

function notAllowed(state: SessionState, arrived: Message): Step {
  if (arrived.name === "status-information") return unexpectedReport(state, arrived);
  return {
    state,
    outputs: [note(`not expected here: ${control(arrived)}`), answer(unknownCommand)],
  };
}

function verdict(
  state: SessionState,
  { verdict: given, message: report, bytes }: Extract<SessionInput, { input: "verdict" }>,
): Step {
  if (given === "refuse") return { state, outputs: [answer(processingError)] };
  if (state.at !== "served") return { state, outputs: [answer(accept)] };
  // Nothing but the decision about the goods may commit a sale that waits for it.
  const undecided = state.goods?.decision === null && isApproval(report);
  if (given === "hold" || undecided) return hold(state, report, bytes);
  // A contrary report while the goods are undecided: the terminal waits for them no longer.
  const goods = state.goods?.decision === null ? null : state.goods;
  return { state: { ...state, goods, accepted: bytes }, outputs: [answer(accept)] };
}

/** The terminal has given the master right back (zvt.md 5.2). */
function over(state: Served, end: ExchangeEnd): Step {
  const outputs: SessionOutput[] = [
    { output: "stop-timer", timer: "t4" },
    { output: "stop-timer", timer: "goods" },
    answer(accept),
    { output: "end", end },
    ...(state.abort.unanswered ? [outOfStep] : []),
  ];
  if (state.abort.state === "sent") return { state: { at: "draining" }, outputs };
  if (state.abort.state === "wanted") {
    outputs.push({ output: "abort-answer", answer: { answer: "nothing-running" } });
  }
  return { state: { at: "idle" }, outputs };
}

/** A message while the terminal is not master: late, or a surprise. */
function unsolicited(state: SessionState, { message: arrived, problem }: MessageInput): Step {
  switch (arrived.name) {
    case "status-information":
      if (problem === null && isSettlement(arrived)) return answerOnly(state, accept, "totals");
      return unexpectedReport(state, arrived);
    case "intermediate-status":
    case "print-line":
    case "print-text-block":
    case "set-register-time":
    case "completion":
    case "status-completion":
    case "abort-from-pt":
      return answerOnly(state, accept, `not expected here: ${control(arrived)}`);
    default:
      return answerOnly(state, unknownCommand, `not expected here: ${control(arrived)}`);
  }
}

/** DESIGN 3.1 rule 4: a report with no payment running is refused, the terminal reverses. */
function unexpectedReport(state: SessionState, arrived: Message): Step {
  const outputs: SessionOutput[] = [
    answer(processingError),
    { output: "unexpected", message: arrived },
    ...unjudged(state),
  ];
  return { state, outputs };
}

/** zvt.md 2.4: a good frame around something that is no message; a 04 0F for all we know. */
function malformed(state: SessionState): Step {
  const { outputs } = answerOnly(state, unknownCommand, "a frame without a whole message in it");
  return { state, outputs: [...outputs, ...unjudged(state)] };
}

/** A judged command must hear of a result that it could not judge (DESIGN 3.1 rule 4). */
function unjudged(state: SessionState): readonly SessionOutput[] {
  const judged = (state.at === "requested" || state.at === "served") && state.command.judged;
  return judged ? [{ output: "unjudged" }] : [];
}

/** An answer to 06 B0 that comes this late would be taken for that of the next command. */
const outOfStep: SessionOutput = {
  output: "out-of-step",
  problem: "the terminal never answered an abort",
};

/** The 04 0F of an end of day carries totals (zvt.md 7.1), that of a sale never. */
function isSettlement({ fields }: Message): boolean {
  return fields.totals !== undefined;
}

function timeout(state: SessionState, timer: SessionTimer, context: SessionContext): Step {
  switch (timer) {
    case "t3":
      if (state.at !== "requested") return { state, outputs: [] };
      return lost(state, `no answer within ${context.timers.t3Ms} ms`);
    case "t4":
      if (state.at !== "served") return { state, outputs: [] };
      return lost(state, `the terminal fell silent for ${state.t4Ms} ms`);
    case "abort":
      return abortAnswered(state, { answer: "no-answer", text: "no answer to the abort" });
    case "goods":
      return holdOver(state);
  }
}

function lost(state: SessionState, problem: string): Step {
  const outputs: SessionOutput[] = [];
  const aborting =
    state.at === "draining" ||
    ((state.at === "requested" || state.at === "served") &&
      (state.abort.state === "wanted" || state.abort.state === "sent"));
  if (aborting) {
    outputs.push({ output: "abort-answer", answer: { answer: "no-answer", text: problem } });
  }
  if (state.at === "requested" || state.at === "served") {
    outputs.push({ output: "end", end: { end: "lost", problem } });
  }
  return { state: { at: "idle" }, outputs: [...stopTimers, ...outputs] };
}

const stopTimers: readonly SessionOutput[] = (["t3", "t4", "abort", "goods"] as const).map(
  (timer) => ({
    output: "stop-timer",
    timer,
  }),
);

function ended({ abort }: Extract<SessionState, { at: "requested" }>, end: ExchangeEnd): Step {
  const outputs: SessionOutput[] = [...stopTimers, { output: "end", end }];
  if (abort.state === "wanted") {
    outputs.push({ output: "abort-answer", answer: { answer: "nothing-running" } });
  }
  return { state: { at: "idle" }, outputs };
}

function answerOnly(state: SessionState, apdu: Apdu, text: string): Step {
  return { state, outputs: [note(text), answer(apdu)] };
}

function prefixed(outputs: readonly SessionOutput[], then: Step): Step {
  return { state: then.state, outputs: [...outputs, ...then.outputs] };
}

function control({ control: code, name }: Message): string {
  return `${code.toString(16).padStart(4, "0")} ${name}`;
}
