import type { FaultBox } from "../faults/fault-box.ts";
import { choice, faultsOf, hex, number, repetition } from "../faults/fault-kinds.ts";
import texts from "../texts.json" with { type: "json" };

/** The moments of a payment at which a fault can strike, in their order. */
export type Point = keyof typeof texts.moments.concert;
const points = Object.keys(texts.moments.concert) as readonly Point[];

const at = (fallback: Point) => choice("moment", points, fallback);
const noise = hex("the bytes", "7f553041");
const sessions = ["sessions"] as const;
const bareTcp = ["tcp", "bare"] as const;

const commonFaults = faultsOf(texts.faults.common, {
  "silent-enq": { needs: sessions },
  "nak-enq": { needs: sessions },
  "nak-frame": { needs: sessions },
  "no-ack": { needs: sessions },
  "late-ack": { needs: sessions, ms: number("how late", 1_500) },
  "bad-check": { needs: sessions },
  "no-eot": { needs: sessions },
  parity: { needs: sessions, times: number("how many writes, 0 without end", 0) },
  split: { bytes: number("bytes in a piece", 1), ms: number("pause between two pieces", 5) },
  "noise-before": { hex: noise },
  "noise-inside": { hex: noise },
  "wrong-length": { by: number("how much too long (negative: too short)", -1) },
  "late-reply": { ms: number("how late", 3_000) },
  mute: { at: at("accepted"), ms: number("silence at least so long", 0) },
  unplug: { at: at("charged"), ms: number("stay away so long", 0) },
  reboot: { at: at("charged") },
  hold: { at: at("card"), ms: number("at most so long, 0 without limit", 0) },
  "refuse-connection": { needs: ["tcp"], ms: number("how long", 100) },
  "other-amount": { by: number("difference in minor units", 1) },
  "other-private": { hex: hex("the data", "54393938373720202020") },
  report: { as: choice("how", ["masked", "clear", "blank"], "clear") },
});

const fixedFaults = faultsOf(texts.faults.fixed, {
  status: { as: choice("the status", [..."123456789X"], "9") },
});

/** The values of tag AF, the reason why an action was not done (docs/concert.md 4.4). */
const reasons = Array.from({ length: 14 }, (_, i) => String(i).padStart(2, "0"));

const taggedFaults = faultsOf(texts.faults.tagged, {
  "not-done": { af: choice("AF: 00 to 13, or none", [...reasons, "none"], "04") },
  close: { needs: bareTcp, when: choice("when", ["before", "middle"], "middle") },
  "left-open": { needs: bareTcp },
});

export type FaultName = keyof (typeof commonFaults & typeof fixedFaults & typeof taggedFaults);

const others = { shared: repetition, points: texts.moments.concert };
export const fixedFaultTable = { kinds: { ...commonFaults, ...fixedFaults }, ...others };
export const taggedFaultTable = { kinds: { ...commonFaults, ...taggedFaults }, ...others };

const BLANK = 0x20;

/** Returns the body, which a fault can make too long or too short. Each call uses up one strike. */
export function rewritten(faults: FaultBox, body: Uint8Array): Uint8Array {
  const by = Number(faults.take("wrong-length")?.["by"] ?? 0);
  if (by <= 0) return body.slice(0, Math.max(body.length + by, 0));
  return Uint8Array.of(...body, ...new Uint8Array(by).fill(BLANK));
}
