import type { FaultArgument, FaultKind, FaultTable } from "../../faults/fault-table.ts";

/** Moments of a payment at which a fault can strike, in their order. */
export const points = ["accepted", "card", "host", "charged", "reply", "replied"] as const;
export type Point = (typeof points)[number];

const pointDescriptions: Readonly<Record<Point, string>> = {
  accepted: "request taken (in sessions: acknowledged)",
  card: "waiting for the customer",
  host: "card presented, before the bank is asked",
  charged: "the bank has charged",
  reply: "before the reply",
  replied: "reply acknowledged (without sessions: sent)",
};

const at: FaultArgument = { description: "moment", type: "word", words: points };

function number(description: string, fallback: number): FaultArgument {
  return { description, type: "number", fallback };
}

function word(description: string, words: readonly string[], fallback?: string): FaultArgument {
  return { description, type: "word", words, ...(fallback === undefined ? {} : { fallback }) };
}

const noise: FaultArgument = { description: "the bytes", type: "hex", fallback: "7f553041" };

/** Arguments that every fault takes. */
const sharedArguments = {
  times: number("how often it strikes, 0 without end", 1),
  skip: number("chances to let pass first", 0),
};

const sessions = ["sessions"] as const;
const tcp = ["tcp"] as const;
const bareTcp = ["tcp", "bare"] as const;

/** The dialogue of ENQ, frames and EOT. */
const sessionFaults = {
  "silent-enq": { needs: sessions, description: "sessions: do not answer an ENQ", arguments: {} },
  "nak-enq": { needs: sessions, description: "sessions: answer an ENQ with NAK", arguments: {} },
  "nak-frame": {
    needs: sessions,
    description: "sessions: answer a good request with NAK; nothing begins",
    arguments: {},
  },
  "no-ack": {
    needs: sessions,
    description: "sessions: no ACK for a request, which is carried out all the same",
    arguments: {},
  },
  "late-ack": {
    needs: sessions,
    description: "sessions: ACK for a request comes late",
    arguments: { ms: number("how late", 1_500) },
  },
  "bad-check": {
    needs: sessions,
    description: "sessions: a reply with a wrong check byte, right when it is sent again",
    arguments: {},
  },
  "no-eot": { needs: sessions, description: "sessions: no EOT behind the reply", arguments: {} },
  parity: {
    needs: sessions,
    description: "sessions: bytes carry even parity in bit 7, as on a line set otherwise",
    arguments: { times: number("how many writes, 0 without end", 0) },
  },
} as const satisfies Record<string, FaultKind>;

/** Bytes of the reply, and when it comes. */
const replyFaults = {
  "half-reply": { description: "send the first half of the reply only", arguments: {} },
  split: {
    description: "send the reply in pieces with pauses",
    arguments: {
      bytes: number("bytes in a piece", 1),
      ms: number("pause between two pieces", 5),
    },
  },
  duplicate: { description: "send the bytes of the reply twice", arguments: {} },
  "noise-before": {
    description: "send stray bytes in front of the reply",
    arguments: { hex: noise },
  },
  "noise-inside": {
    description: "send stray bytes in the middle of the reply",
    arguments: { hex: noise },
  },
  "wrong-length": {
    description: "a reply that is longer or shorter than it should be, its check byte right",
    arguments: { by: number("how much too long (negative: too short)", -1) },
  },
  "no-reply": { description: "carry the request out and never reply", arguments: {} },
  "late-reply": {
    description: "reply late",
    arguments: { ms: number("how late", 3_000) },
  },
} as const satisfies Record<string, FaultKind>;

/** Moments, and lines that go away. */
const pointFaults = {
  mute: {
    description: "fall silent at a moment until the payment is over",
    arguments: { at: { ...at, fallback: "accepted" }, ms: number("silence at least so long", 0) },
  },
  unplug: {
    description: "close the socket or take the pty away at a moment; connections are refused",
    arguments: { at: { ...at, fallback: "charged" }, ms: number("stay away so long", 0) },
  },
  reboot: {
    description: "restart at a moment: the payment is never told; what was charged stays",
    arguments: { at: { ...at, fallback: "charged" } },
  },
  hold: {
    description: "stop at a moment until the faults are taken back, or for a time",
    arguments: {
      at: { ...at, fallback: "card" },
      ms: number("at most so long, 0 without limit", 0),
    },
  },
  "refuse-connection": {
    needs: tcp,
    description: "TCP: drop a new connection, and refuse others for a while",
    arguments: { ms: number("how long", 100) },
  },
} as const satisfies Record<string, FaultKind>;

/** Contents of the reply that both families have. */
const contentFaults = {
  "other-amount": {
    description: "charge another amount, and tell it",
    arguments: { by: number("difference in minor units", 1) },
  },
  "other-currency": { description: "tell another currency (US dollars)", arguments: {} },
  "other-register": { description: "tell another register number (99)", arguments: {} },
  "other-private": {
    description: "tell private data of the terminal's own in place of the register's",
    arguments: { hex: { description: "the data", type: "hex", fallback: "54393938373720202020" } },
  },
  report: {
    description: "show the card number in another way",
    arguments: { as: word("how", ["masked", "clear", "blank"], "clear") },
  },
} as const satisfies Record<string, FaultKind>;

const fixedFaults = {
  "any-body": {
    description: "read a request of any length at the places of E",
    arguments: {},
  },
  status: {
    description: "tell another status; 7 refuses, the others change the word only",
    arguments: { as: word("the status", [..."123456789X"], "9") },
  },
  "zero-amount": { description: "tell an amount of zero", arguments: {} },
} as const satisfies Record<string, FaultKind>;

/** All reasons of a refusal (docs/concert.md 4.4). */
export const reasons = Array.from({ length: 14 }, (_, i) => String(i).padStart(2, "0"));

const taggedFaults = {
  "not-done": {
    description: "refuse with AE 01 and a reason, nothing is charged",
    arguments: { af: word("AF: 00 to 13, or none", [...reasons, "none"], "04") },
  },
  "taken-first": { description: "tell AE 11, and the result behind it", arguments: {} },
  "taken-only": { description: "tell AE 11, and no result", arguments: {} },
  close: {
    needs: bareTcp,
    description: "TCP: close the connection in place of, or in the middle of the reply",
    arguments: { when: word("when", ["before", "middle"], "middle") },
  },
  "left-open": {
    needs: bareTcp,
    description: "TCP: do not close the connection after the reply",
    arguments: {},
  },
  "padded-amount": { description: "tell CB with zeros in front, 12 digits", arguments: {} },
  "no-amount": { description: "leave CB out", arguments: {} },
  "no-echo": { description: "leave CA, CB, CD and CE out", arguments: {} },
  "no-state": { description: "leave AE out", arguments: {} },
  "odd-state": { description: "tell AE 99", arguments: {} },
  "done-with-reason": { description: "tell AE 10 with AF 09", arguments: {} },
  "other-action": { description: "tell another action (CD 1)", arguments: {} },
  "unknown-tags": { description: "tags that nobody has described", arguments: {} },
  "other-version": { description: "tell CZ 0301", arguments: {} },
  receipt: {
    description: "a receipt with line feeds, asked for or not",
    arguments: {},
  },
} as const satisfies Record<string, FaultKind>;

const commonFaults = {
  ...sessionFaults,
  ...replyFaults,
  ...pointFaults,
  ...contentFaults,
};
const ofFixedFields = { ...commonFaults, ...fixedFaults };
const ofTags = { ...commonFaults, ...taggedFaults };

export type FaultName = keyof typeof ofFixedFields | keyof typeof ofTags;

const shared = { shared: sharedArguments, points: pointDescriptions };
export const fixedFaultTable: FaultTable = { kinds: ofFixedFields, ...shared };
export const taggedFaultTable: FaultTable = { kinds: ofTags, ...shared };
