/**
 * Messages that come although nothing is running, and arrivals that are no message at all
 * (docs/rules/04-approval.md). Pure.
 */
import type { Apdu, Message } from "../../../../zvt/index.ts";
import { accept, answer, note, processingError, unknownCommand } from "./answer-policy.ts";
import type { MessageInput, SessionOutput, SessionState, Step } from "./session-state.ts";

/** A message while the terminal is not master: late, or a surprise. */
export function unsolicited(
  state: SessionState,
  { message: arrived, problem }: MessageInput,
): Step {
  switch (arrived.name) {
    case "status-information":
      if (problem === null && isSettlement(arrived)) return answerOnly(state, accept, "totals");
      return unmatchedReport(state, arrived);
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

/** docs/rules/04-approval.md: a report with no payment running is refused; it is reversed. */
export function unmatchedReport(state: SessionState, arrived: Message): Step {
  const outputs: SessionOutput[] = [
    answer(processingError),
    { output: "unexpected", message: arrived },
    ...unjudged(state),
  ];
  return { state, outputs };
}

/** docs/zvt.md 2.4: a good frame around something that is no message; a 04 0F for all we know. */
export function malformed(state: SessionState): Step {
  const { outputs } = answerOnly(state, unknownCommand, "a frame without a whole message in it");
  return { state, outputs: [...outputs, ...unjudged(state)] };
}

/** A judged command must hear of a result that it could not judge (docs/rules/04-approval.md). */
export function unjudged(state: SessionState): readonly SessionOutput[] {
  const judged = (state.at === "requested" || state.at === "served") && state.command.judged;
  return judged ? [{ output: "unjudged" }] : [];
}

/** The 04 0F of an end of day carries totals (docs/zvt.md 7.1), that of a sale never. */
export function isSettlement({ fields }: Message): boolean {
  return fields.totals !== undefined;
}

/** A result that names a receipt or a card: totals never do (docs/zvt.md 6.4). */
export function isSale({ fields }: Message): boolean {
  return fields.receiptNumber !== undefined || fields.pan !== undefined;
}

function answerOnly(state: SessionState, apdu: Apdu, text: string): Step {
  return { state, outputs: [note(text), answer(apdu)] };
}

export function control({ control: code, name }: Message): string {
  return `${code.toString(16).padStart(4, "0")} ${name}`;
}
