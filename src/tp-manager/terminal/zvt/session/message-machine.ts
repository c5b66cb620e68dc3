/**
 * How the session machine answers the terminal's messages (docs/zvt.md 5.2, 7.4), and how an
 * approval (04 0F) waits for the decision about the goods (docs/zvt.md 8.1). Without side effects.
 */
import { type Apdu, encodeMessage, type Message } from "../../../../zvt/index.ts";
import type { GoodsDecision } from "../../terminal.ts";
import type {
  ExchangeEnd,
  HeldGoods,
  MessageInput,
  Served,
  SessionInput,
  SessionOutput,
  SessionState,
  Step,
} from "./session-state.ts";

/** The register's answers to messages of the terminal (docs/zvt.md 4.1, 11.4). */
const accept = encodeMessage("positive-acknowledgement");
const processingError = refusal(0x66);

function refusal(errorCode: number): Apdu {
  return encodeMessage("negative-acknowledgement", { errorCode });
}

function answer(apdu: Apdu): SessionOutput {
  return { output: "send", what: "answer", apdu };
}

export function note(text: string): SessionOutput {
  return { output: "note", text };
}

export function stay(state: SessionState, ...outputs: readonly SessionOutput[]): Step {
  return { state, outputs };
}

const unknownCommand = refusal(0x83);

/** Ends the link, because a late answer to an abort (06 B0) could pass for another answer. */
export const outOfSync: SessionOutput = {
  output: "out-of-sync",
  problem: "the terminal never answered an abort",
};

/** Handles a message that the terminal sends while it carries out a command. */
export function servedMessage(before: Served, input: MessageInput): Step {
  const { name } = input.message;
  const arrived: SessionOutput[] = [];
  let state = before;
  if (state.accepted && provesAck.includes(name)) {
    state = { ...state, accepted: false };
    arrived.push({ output: "ack-arrived" });
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
 * Messages that a terminal sends only once our 80 00 to its 04 0F has arrived
 * (docs/rules/02-proof.md). A terminal that missed our 80 00 reverses the sale, and sends 04 FF,
 * another 04 0F or 06 1E (docs/zvt.md 9.1).
 */
const provesAck: readonly string[] = [
  "completion",
  "status-completion",
  "print-line",
  "print-text-block",
];

/** Returns the limit T4: a time-out byte of 04 FF sets it, unless zero (docs/zvt.md 5.1, 7.2). */
function newT4(state: Served, { name, parts }: Message): number {
  const minutes = name === "intermediate-status" ? (parts.timeoutMinutes ?? 0) : 0;
  return minutes > 0 ? minutes * 60_000 : state.t4Ms;
}

function reply(state: Served, { message: arrived, problem }: MessageInput): Step {
  if (arrived.name === "status-information" && isSettlement(arrived) && !state.command.judged) {
    // Totals of an automatic end of day (docs/zvt.md 6.5) are no sale.
    return taken(state, arrived);
  }
  const isStatus = arrived.name === "status-information";
  if (arrived.name === "unknown" || !state.command.replies.includes(arrived.name)) {
    return isStatus ? unmatchedReport(state, arrived) : unexpected(state, arrived, unknownCommand);
  }
  if (isStatus) {
    if (problem !== null) return unreadableReport(state);
    if (state.goods && isSameSale(state.goods, arrived)) return askedAgain(state, arrived);
    if (state.command.judged) {
      // This report replaces an earlier one, even if this report is refused.
      return stay({ ...state, accepted: false }, { output: "judge", message: arrived });
    }
    if (state.command.name !== "repeat-receipt" && isSale(arrived)) {
      return unmatchedReport(state, arrived);
    }
  }
  return taken(state, arrived);
}

/** Sends the ACK of a message whose ACK commits no sale, and passes it on. */
function taken(state: Served, message: Message): Step {
  return stay(state, answer(accept), { output: "deliver", message });
}

/**
 * Refuses an unreadable report if its ACK would commit a sale (docs/zvt.md 9.1); sends the
 * ACK of unreadable totals and repeated receipts. A sale that waits for its goods goes on waiting.
 */
function unreadableReport(state: Served): Step {
  if (state.goods?.decision === null) return askedAgain(state, state.goods.report);
  if (!state.command.judged) return stay(state, answer(accept));
  return stay(state, answer(processingError), ...unjudged(state));
}

export function verdict(
  state: SessionState,
  { verdict: given, message: report }: Extract<SessionInput, { input: "verdict" }>,
): Step {
  if (given === "refuse") return stay(state, answer(processingError));
  if (state.at !== "served") return stay(state, answer(accept));
  // A sale that awaits the decision about its goods is committed only by that decision.
  const undecided = state.goods?.decision === null && isApproval(report);
  if (given === "hold" || undecided) return hold(state, report);
  // After a report that is no approval, the terminal no longer waits for the goods.
  const goods = state.goods?.decision === null ? null : state.goods;
  return stay({ ...state, goods, accepted: true }, answer(accept));
}

/** Ends the command; the register may send commands again (docs/zvt.md 5.2). */
function over(state: Served, end: ExchangeEnd): Step {
  const outputs: SessionOutput[] = [
    { output: "stop-timer", timer: "t4" },
    { output: "stop-timer", timer: "goods" },
    answer(accept),
    { output: "end", end },
    ...(state.abort.unanswered ? [outOfSync] : []),
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

/** Answers a message that comes while no command of ours is carried out. */
export function unsolicited(state: SessionState, { message, problem }: MessageInput): Step {
  switch (message.name) {
    case "status-information":
      if (problem !== null || !isSettlement(message)) return unmatchedReport(state, message);
      return stay(state, note("totals came of an end of day nobody requested"), answer(accept));
    case "intermediate-status":
    case "print-line":
    case "print-text-block":
    case "set-register-time":
    case "completion":
    case "status-completion":
    case "abort-from-pt":
      return unexpected(state, message, accept);
    default:
      return unexpected(state, message, unknownCommand);
  }
}

/** Refuses a report outside of a payment; the terminal reverses it (docs/rules/04-approval.md). */
function unmatchedReport(state: SessionState, message: Message): Step {
  const outputs = unjudged(state);
  return stay(state, answer(processingError), { output: "unmatched", message }, ...outputs);
}

/** Refuses a frame without a whole message: it may be a damaged 04 0F (docs/zvt.md 2.4). */
export function malformed(state: SessionState): Step {
  const text = "a frame without a whole message in it";
  return stay(state, note(text), answer(unknownCommand), ...unjudged(state));
}

/** Reports that a payment or reversal had a result refused unread (docs/rules/04-approval.md). */
function unjudged(state: SessionState): readonly SessionOutput[] {
  const judged = (state.at === "requested" || state.at === "served") && state.command.judged;
  return judged ? [{ output: "unjudged" }] : [];
}

/** Returns whether a 04 0F has totals, as only an end of day has (docs/zvt.md 7.1). */
function isSettlement({ fields }: Message): boolean {
  return fields.totals !== undefined;
}

/** Returns whether a result names a receipt or a card, as totals never do (docs/zvt.md 6.4). */
function isSale({ fields }: Message): boolean {
  return fields.receiptNumber !== undefined || fields.pan !== undefined;
}

function unexpected(state: SessionState, { control, name }: Message, reply: Apdu): Step {
  const text = `not expected here: ${control.toString(16).padStart(4, "0")} ${name}`;
  return stay(state, note(text), answer(reply));
}

/**
 * The answer 84 9C, after which the terminal repeats its 04 0F. In a two-phase sale, each 04 0F is
 * left unanswered for a part of the window for goods, and then gets 84 9C (see commands.ts).
 */
const askAgain = refusal(0x9c);

function decisionAnswer(decision: GoodsDecision): Apdu {
  switch (decision.goods) {
    case "issued":
      return accept;
    case "not-issued":
      // Any 84 xx but 84 9C and 84 9D refuses the sale; 84 66 is usual.
      return processingError;
    case "partly-issued":
      return encodeMessage("negative-acknowledgement", {
        errorCode: 0x9d,
        fields: { amount: decision.amountMinor },
      });
  }
}

const compared = ["resultCode", "amount", "currency", "receiptNumber", "trace"] as const;

/** Returns whether a 04 0F repeats the report that waits for its goods (docs/zvt.md 8.3). */
function isSameSale(held: HeldGoods, { fields }: Message): boolean {
  return compared.every((name) => held.report.fields[name] === fields[name]);
}

function isApproval({ fields, parts }: Message): boolean {
  return (fields.resultCode ?? parts.resultCode) === 0;
}

/** Leaves a report unanswered for a part of the window for goods (docs/zvt.md 8.2). */
function hold(state: Served, report: Message): Step {
  const { goods } = state.command;
  if (!goods) {
    return stay(state, note("this payment does not wait for goods"), answer(processingError));
  }
  const asked = state.goods?.asked ?? 0;
  return {
    state: { ...state, goods: { report, open: true, asked, decision: null } },
    outputs: [
      { output: "start-timer", timer: "goods", ms: goods.holdMs },
      // T4 begins after the window for goods, in which the terminal only waits for us.
      { output: "start-timer", timer: "t4", ms: goods.windowMs + state.t4Ms },
    ],
  };
}

function askedAgain(state: Served, report: Message): Step {
  const { goods } = state;
  if (!goods?.decision) return hold(state, report);
  return answerDecision(state, { ...goods, report }, goods.decision);
}

/** Sends the decision about the goods, as the answer to the 04 0F that waits or comes next. */
export function decided(state: SessionState, decision: GoodsDecision): Step {
  if (state.at !== "served" || !state.goods || state.goods.decision) return stay(state);
  if (state.goods.open) return answerDecision(state, state.goods, decision);
  return stay({ ...state, goods: { ...state.goods, decision } });
}

function answerDecision(state: Served, goods: HeldGoods, decision: GoodsDecision): Step {
  const accepted = decision.goods === "issued";
  return {
    state: { ...state, accepted, goods: { ...goods, open: false, decision } },
    outputs: [
      { output: "stop-timer", timer: "goods" },
      { output: "start-timer", timer: "t4", ms: state.t4Ms },
      answer(decisionAnswer(decision)),
    ],
  };
}

/** Makes the terminal repeat its 04 0F, but after the last repeat the terminal ends the sale. */
export function holdOver(state: SessionState): Step {
  if (state.at !== "served" || !state.goods?.open) return stay(state);
  if (state.goods.asked >= (state.command.goods?.asksMax ?? 0)) return stay(state);
  const goods = { ...state.goods, open: false, asked: state.goods.asked + 1 };
  return stay({ ...state, goods }, answer(askAgain));
}
