/**
 * The part of the session machine for a good 04 0F that waits for its goods (docs/zvt.md 8.1).
 *
 * The terminal's 04 0F stays unanswered for a part of the window; then 84 9C makes it ask again,
 * and the next part begins. authorisation.ts divides the window into these parts.
 */

import { type Apdu, encodeMessage, type Message } from "../../../../zvt/index.ts";
import type { GoodsDecision } from "../../terminal.ts";
import { accept, answer, note, processingError, refusal, stay } from "./answer-policy.ts";
import type { HeldGoods, Served, SessionState, Step } from "./session-state.ts";

const askAgain = refusal(0x9c);

function decisionAnswer(decision: GoodsDecision): Apdu {
  switch (decision.goods) {
    case "issued":
      return accept;
    case "not-issued":
      // Any other 84 than 9C and 9D; 66 is the one that clients use.
      return processingError;
    case "partly-issued":
      return encodeMessage("negative-acknowledgement", {
        errorCode: 0x9d,
        fields: { amount: decision.amountMinor },
      });
  }
}

const compared = ["resultCode", "amount", "currency", "receiptNumber", "trace"] as const;

/** Whether the terminal asks about the same sale again; a message id (1F73) may differ. */
export function isSameSale(held: HeldGoods, { fields }: Message): boolean {
  return compared.every((name) => held.report.fields[name] === fields[name]);
}

/** Whether a 04 0F says that money was taken. */
export function isApproval({ fields, parts }: Message): boolean {
  return (fields.resultCode ?? parts.resultCode) === 0;
}

/** Leaves a report unanswered: a part of the window begins (docs/zvt.md 8.2). */
export function hold(state: Served, report: Message, bytes: string): Step {
  const { goods } = state.command;
  if (!goods) {
    return stay(state, note("held without a window for goods"), answer(processingError));
  }
  const asked = state.goods?.asked ?? 0;
  return {
    state: { ...state, goods: { report, bytes, open: true, asked, decision: null } },
    outputs: [
      { output: "start-timer", timer: "goods", ms: goods.holdMs },
      // T4 begins with the end of the window: the terminal is silent while it waits for us.
      { output: "start-timer", timer: "t4", ms: goods.windowMs + state.t4Ms },
    ],
  };
}

export function askedAgain(state: Served, report: Message, bytes: string): Step {
  const { goods } = state;
  if (!goods?.decision) return hold(state, report, bytes);
  return answerDecision(state, { ...goods, report, bytes }, goods.decision);
}

/** The decision leaves at once when the terminal waits for it, else as the answer to its repeat. */
export function decided(state: SessionState, decision: GoodsDecision): Step {
  if (state.at !== "served" || !state.goods || state.goods.decision) return stay(state);
  if (state.goods.open) return answerDecision(state, state.goods, decision);
  return stay({ ...state, goods: { ...state.goods, decision } });
}

function answerDecision(state: Served, goods: HeldGoods, decision: GoodsDecision): Step {
  const accepted = decision.goods === "issued" ? goods.bytes : null;
  return {
    state: { ...state, accepted, goods: { ...goods, open: false, decision } },
    outputs: [
      { output: "stop-timer", timer: "goods" },
      { output: "start-timer", timer: "t4", ms: state.t4Ms },
      answer(decisionAnswer(decision)),
    ],
  };
}

/** Ends a part of the window; after the last part the terminal's own window ends the sale. */
export function holdOver(state: SessionState): Step {
  if (state.at !== "served" || !state.goods?.open) return stay(state);
  if (state.goods.asked >= (state.command.goods?.asksMax ?? 0)) return stay(state);
  const goods = { ...state.goods, open: false, asked: state.goods.asked + 1 };
  return stay({ ...state, goods }, answer(askAgain));
}
