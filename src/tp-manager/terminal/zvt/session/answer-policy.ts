import { type Apdu, encodeMessage } from "../../../../zvt/index.ts";
import type { SessionOutput, SessionState, Step } from "./session-state.ts";

/** The register's answers to messages of the terminal (docs/zvt.md 4.1, 11.4). */
export const accept = encodeMessage("positive-acknowledgement");
export const processingError = refusal(0x66);

export function refusal(errorCode: number): Apdu {
  return encodeMessage("negative-acknowledgement", { errorCode });
}

export function answer(apdu: Apdu): SessionOutput {
  return { output: "send", what: "answer", apdu };
}

export function note(text: string): SessionOutput {
  return { output: "note", text };
}

export function stay(state: SessionState, ...outputs: readonly SessionOutput[]): Step {
  return { state, outputs };
}
