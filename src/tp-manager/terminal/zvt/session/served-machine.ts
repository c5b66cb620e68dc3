/**
 * The handling of messages of a terminal that is master (docs/zvt.md 5.2, 7.4): a part of the
 * session machine. Pure.
 */
import type { Message } from "../../../../zvt/index.ts";
import { outOfStep } from "./abort-machine.ts";
import { accept, answer, note, processingError, unknownCommand } from "./answer-policy.ts";
import { askedAgain, hold, isApproval, isSameSale } from "./goods-machine.ts";
import type {
  ExchangeEnd,
  MessageInput,
  Served,
  SessionInput,
  SessionOutput,
  SessionState,
  Step,
} from "./session-state.ts";
import { control, isSale, isSettlement, unjudged, unmatchedReport } from "./surprise-machine.ts";

export function servedMessage(before: Served, input: MessageInput): Step {
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
 * docs/rules/02-proof.md: messages that a terminal sends only after our 80 00 to its 04 0F has
 * arrived. A terminal that missed our 80 00 reverses (docs/zvt.md 9.1), and says so with 04 FF,
 * another 04 0F and 06 1E.
 */
const provesAcknowledgement: readonly string[] = [
  "completion",
  "status-completion",
  "print-line",
  "print-text-block",
];

/** docs/zvt.md 5.1, 7.2: the time-out byte of 04 FF sets T4; zero is seen and means nothing. */
function newT4(state: Served, { name, parts }: Message): number {
  const minutes = name === "intermediate-status" ? (parts.timeoutMinutes ?? 0) : 0;
  return minutes > 0 ? minutes * 60_000 : state.t4Ms;
}

function reply(state: Served, { message: arrived, problem, bytes }: MessageInput): Step {
  if (arrived.name === "status-information" && isSettlement(arrived) && !state.command.judged) {
    // A job of the terminal's own (docs/zvt.md 6.5): its totals are no sale.
    return taken(state, arrived);
  }
  if (arrived.name === "unknown" || !state.command.replies.includes(arrived.name)) {
    return notAllowed(state, arrived);
  }
  if (arrived.name === "status-information") {
    if (problem !== null) return unreadableReport(state, bytes);
    if (state.goods && isSameSale(state.goods, arrived)) return askedAgain(state, arrived, bytes);
    if (state.command.judged) {
      // Whatever this report turns out to be: an earlier one is not the last word any more.
      const outputs = [{ output: "judge", message: arrived, bytes } as const];
      return { state: { ...state, accepted: null }, outputs };
    }
    if (state.command.name !== "repeat-receipt" && isSale(arrived)) {
      return unmatchedReport(state, arrived);
    }
  }
  return taken(state, arrived);
}

/** News that commits nothing: the terminal has its answer before anybody is told. */
function taken(state: Served, message: Message): Step {
  return { state, outputs: [answer(accept), { output: "deliver", message }] };
}

/**
 * A report that cannot be read cannot be stored, and must not be acknowledged where the
 * acknowledgement commits a sale (docs/zvt.md 9.1). Totals and repeats commit nothing; a sale that
 * waits for its goods waits on.
 */
function unreadableReport(state: Served, bytes: string): Step {
  if (state.goods?.decision === null) return askedAgain(state, state.goods.report, bytes);
  if (!state.command.judged) return { state, outputs: [answer(accept)] };
  return { state, outputs: [answer(processingError), ...unjudged(state)] };
}

function notAllowed(state: SessionState, arrived: Message): Step {
  if (arrived.name === "status-information") return unmatchedReport(state, arrived);
  return {
    state,
    outputs: [note(`not expected here: ${control(arrived)}`), answer(unknownCommand)],
  };
}

export function verdict(
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

/** The terminal has given the master right back (docs/zvt.md 5.2). */
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

function prefixed(outputs: readonly SessionOutput[], then: Step): Step {
  return { state: then.state, outputs: [...outputs, ...then.outputs] };
}
