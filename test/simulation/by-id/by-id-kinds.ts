/** What such a terminal, or the line to it, does with one command. */
export const byIdFaults = [
  "answer lost",
  "answer lost, and the line is down",
  "line lost in the payment",
  "request lost",
  "request late",
  "busy",
  "another amount",
  "approved and cancelled",
  "declined",
  "customer goes",
  "never answers",
  "forgets the answer",
  "leaves questions unanswered",
  "answers another question",
] as const;
type ByIdFault = (typeof byIdFaults)[number];

export interface ByIdBehaviour {
  readonly fault: ByIdFault | "none";
  readonly ms: number;
}
