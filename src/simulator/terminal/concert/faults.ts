import { type FaultBox, FaultyWire } from "../faults/fault-box.ts";
import {
  choice,
  type FaultArgument,
  type FaultArguments,
  type FaultKind,
  type FaultTable,
  fault,
  faultOf,
  hex,
  number,
  repetition,
} from "../faults/fault-kinds.ts";
import type { Disturbance } from "../port/register-line.ts";
import type { LinkReply } from "./link/session-machine.ts";

/** Moments of a payment at which a fault can strike, in their order. */
const moments = {
  accepted: "request taken (in sessions: acknowledged)",
  card: "waiting for the customer",
  host: "card presented, before the bank is asked",
  charged: "the bank has charged",
  reply: "before the reply",
  replied: "reply acknowledged (without sessions: sent)",
} as const;
export type Point = keyof typeof moments;
export const points = Object.keys(moments) as readonly Point[];

const at = (fallback: Point): FaultArgument => choice("moment", points, fallback);
const noise = hex("the bytes", "7f553041");
const sessions = ["sessions"] as const;
const bareTcp = ["tcp", "bare"] as const;

const commonFaults = {
  // The dialogue of ENQ, frames and EOT.
  "silent-enq": faultOf(sessions, "sessions: do not answer an ENQ"),
  "nak-enq": faultOf(sessions, "sessions: answer an ENQ with NAK"),
  "nak-frame": faultOf(sessions, "sessions: answer a good request with NAK; nothing begins"),
  "no-ack": faultOf(sessions, "sessions: no ACK for a request, which is carried out all the same"),
  "late-ack": faultOf(sessions, "sessions: ACK for a request comes late", {
    ms: number("how late", 1_500),
  }),
  "bad-check": faultOf(
    sessions,
    "sessions: a reply with a wrong check byte, right when it is sent again",
  ),
  "no-eot": faultOf(sessions, "sessions: no EOT after the reply"),
  parity: faultOf(
    sessions,
    "sessions: bytes carry even parity in bit 7, as on a line set otherwise",
    { times: number("how many writes, 0 without end", 0) },
  ),
  // Bytes of the reply, and when it comes.
  "half-reply": fault("send the first half of the reply only"),
  split: fault("send the reply in pieces with pauses", {
    bytes: number("bytes in a piece", 1),
    ms: number("pause between two pieces", 5),
  }),
  duplicate: fault("send the bytes of the reply twice"),
  "noise-before": fault("send bytes of noise in front of the reply", { hex: noise }),
  "noise-inside": fault("send bytes of noise in the middle of the reply", { hex: noise }),
  "wrong-length": fault(
    "a reply that is longer or shorter than it should be, its check byte right",
    { by: number("how much too long (negative: too short)", -1) },
  ),
  "no-reply": fault("carry the request out and never reply"),
  "late-reply": fault("reply late", { ms: number("how late", 3_000) }),
  // Moments, and lines that go away.
  mute: fault("fall silent at a moment until the payment is over", {
    at: at("accepted"),
    ms: number("silence at least so long", 0),
  }),
  unplug: fault("close the socket or take the pty away at a moment; connections are refused", {
    at: at("charged"),
    ms: number("stay away so long", 0),
  }),
  reboot: fault("restart at a moment: the result is never reported; what was charged stays", {
    at: at("charged"),
  }),
  hold: fault("stop at a moment until the faults are taken back, or for a time", {
    at: at("card"),
    ms: number("at most so long, 0 without limit", 0),
  }),
  "refuse-connection": faultOf(
    ["tcp"],
    "TCP: drop a new connection, and refuse others for a while",
    { ms: number("how long", 100) },
  ),
  // Contents of the reply that both families have.
  "other-amount": fault("charge another amount, and report it", {
    by: number("difference in minor units", 1),
  }),
  "other-currency": fault("report another currency (US dollars)"),
  "other-register": fault("report another register number (99)"),
  "other-private": fault("report private data of the terminal's own in place of the register's", {
    hex: hex("the data", "54393938373720202020"),
  }),
  report: fault("show the card number in another way", {
    as: choice("how", ["masked", "clear", "blank"], "clear"),
  }),
} as const satisfies Record<string, FaultKind>;

const fixedFaults = {
  ...commonFaults,
  "any-body": fault("read a request of any length at the positions of E"),
  status: fault("report another status; 7 refuses, the others change the status only", {
    as: choice("the status", [..."123456789X"], "9"),
  }),
  "zero-amount": fault("report an amount of zero"),
} as const satisfies Record<string, FaultKind>;

/** All reasons of a refusal (docs/concert.md 4.4). */
export const reasons = Array.from({ length: 14 }, (_, i) => String(i).padStart(2, "0"));

const taggedFaults = {
  ...commonFaults,
  "not-done": fault("refuse with AE 01 and a reason, nothing is charged", {
    af: choice("AF: 00 to 13, or none", [...reasons, "none"], "04"),
  }),
  "taken-first": fault("report AE 11, and the result after it"),
  "taken-only": fault("report AE 11, and no result"),
  close: faultOf(bareTcp, "TCP: close the connection in place of, or in the middle of the reply", {
    when: choice("when", ["before", "middle"], "middle"),
  }),
  "left-open": faultOf(bareTcp, "TCP: do not close the connection after the reply"),
  "padded-amount": fault("report CB with zeros in front, 12 digits"),
  "no-amount": fault("leave CB out"),
  "no-echo": fault("leave CA, CB, CD and CE out"),
  "no-state": fault("leave AE out"),
  "odd-state": fault("report AE 99"),
  "done-with-reason": fault("report AE 10 with AF 09"),
  "other-action": fault("report another action (CD 1)"),
  "unknown-tags": fault("tags that nobody has described"),
  "other-version": fault("report CZ 0301"),
  receipt: fault("a receipt with line feeds, asked for or not"),
} as const satisfies Record<string, FaultKind>;

export type FaultName = keyof typeof fixedFaults | keyof typeof taggedFaults;

const others = { shared: repetition, points: moments };
export const fixedFaultTable: FaultTable = { kinds: fixedFaults, ...others };
export const taggedFaultTable: FaultTable = { kinds: taggedFaults, ...others };

const names = {
  "bad-check": "bad-check",
  "noise-inside": "noise-inside",
  half: "half-reply",
  duplicate: "duplicate",
  "noise-before": "noise-before",
  split: "split",
} as const;
const BLANK = 0x20;

/** The armed faults on the wire of a terminal of these protocols. */
export class ConcertFaultyWire extends FaultyWire<FaultName> {
  constructor(box: FaultBox) {
    super(box, names);
  }

  /** The reply to an ENQ in place of the usual one; undefined: no fault. */
  enquiry(): LinkReply | undefined {
    if (this.#fault("silent-enq")) return "silence";
    return this.#fault("nak-enq") ? "nak" : undefined;
  }

  /** The reply to a good request in place of ACK, and how late it comes. */
  request(): { readonly reply?: LinkReply; readonly taken?: boolean; readonly delayMs: number } {
    if (this.#fault("nak-frame")) return { reply: "nak", taken: false, delayMs: 0 };
    if (this.#fault("no-ack")) return { reply: "silence", taken: true, delayMs: 0 };
    return { delayMs: Number(this.#fault("late-ack")?.["ms"] ?? 0) };
  }

  rewrite(body: Uint8Array): Uint8Array {
    const by = Number(this.#fault("wrong-length")?.["by"] ?? 0);
    if (by <= 0) return body.slice(0, Math.max(body.length + by, 0));
    return Uint8Array.of(...body, ...new Uint8Array(by).fill(BLANK));
  }

  disturb(): readonly Disturbance[] {
    return this.disturbances({ command: undefined });
  }

  /** Whether the EOT that ends the terminal's session is left out. */
  withholdsEot(): boolean {
    return this.#fault("no-eot") !== undefined;
  }

  /** Whether every byte carries the bit of even parity. */
  parity(): boolean {
    return this.#fault("parity") !== undefined;
  }

  /**
   * Over TCP without sessions, when the connection closes, seen from the reply; `left-open`: the
   * terminal does not close it; undefined: after the reply.
   */
  closing(): "before" | "middle" | "left-open" | undefined {
    if (this.#fault("left-open")) return "left-open";
    const closes = this.#fault("close");
    return closes && (closes["when"] === "before" ? "before" : "middle");
  }

  #fault(name: FaultName): FaultArguments | undefined {
    return this.take(name, { command: undefined });
  }
}
