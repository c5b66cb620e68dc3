import { choice, faultsOf, number, repetition } from "../faults/fault-kinds.ts";
import texts from "../texts.json" with { type: "json" };

/** The moments of a payment at which a fault can strike, in their order. */
export type Point = keyof typeof texts.moments.nexo;
const points = Object.keys(texts.moments.nexo) as readonly Point[];

const at = (fallback: Point) => choice("moment", points, fallback);

const kinds = faultsOf(texts.faults.nexo, {
  "lost-answer": {},
  "cut-answer": {},
  "late-answer": { ms: number("how late", 3_000) },
  "lost-request": { ms: number("the terminal begins it so much later, 0: never", 0) },
  "refuse-connection": { ms: number("how long", 100) },
  "crypto-error": { code: number("the number in the text", 3) },
  busy: { with: choice("the id in the text", ["own", "other", "none"], "other") },
  partial: { by: number("how much less is charged, in minor units", 100) },
  "other-amount": { by: number("difference in minor units", 1) },
  approved: { kept: choice("whether the charge stays all the same", ["yes", "no"], "no") },
  "bare-repeat": { without: choice("what it lacks", ["header", "reference", "both"], "header") },
  mute: { at: at("accepted"), ms: number("silence at least so long", 0) },
  unplug: { at: at("charged"), ms: number("stay away so long", 0) },
  reboot: { at: at("charged") },
  hold: { at: at("card"), ms: number("at most so long, 0 without limit", 0) },
});

export type FaultName = keyof typeof kinds;
export const nexoFaultTable = { kinds, shared: repetition, points: texts.moments.nexo };
