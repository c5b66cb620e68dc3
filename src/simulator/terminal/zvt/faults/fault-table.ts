import type { FaultArgument, FaultKind, FaultTable } from "../../faults/fault-table.ts";

/** Moments of a command at which a fault can strike; the order is that of a payment. */
export const points = [
  "command",
  "accepted",
  "card",
  "host",
  "charged",
  "report",
  "reported",
  "acknowledged",
  "print",
  "printed",
  "completion",
  "completed",
] as const;
export type Point = (typeof points)[number];

const pointDescriptions: Readonly<Record<Point, string>> = {
  command: "command received, before 80 00",
  accepted: "80 00 sent",
  card: "waiting for the customer",
  host: "card presented, before the bank is asked",
  charged: "the bank has charged",
  report: "before 04 0F",
  reported: "04 0F sent, its answer not yet read",
  acknowledged: "04 0F answered",
  print: "before the first print message",
  printed: "all print messages answered",
  completion: "before 06 0F or 06 1E",
  completed: "06 0F or 06 1E sent, its answer not yet read",
};

/** Kinds of messages that the terminal sends. */
const messageKinds = ["answer", "prompt", "report", "print", "end", "any"] as const;
export type MessageKind = (typeof messageKinds)[number];

const at: FaultArgument = {
  description: "moment",
  type: "word",
  words: points,
};

function on(fallback: MessageKind): FaultArgument {
  return { description: "which messages", type: "word", words: messageKinds, fallback };
}

function milliseconds(description: string, fallback: number): FaultArgument {
  return { description, type: "number", fallback };
}

/** Arguments that every fault takes. */
const sharedArguments = {
  times: { description: "how often it strikes, 0 without end", type: "number", fallback: 1 },
  skip: { description: "chances to let pass first", type: "number", fallback: 0 },
  command: {
    description: "only in this command, four hexadecimal digits, or any",
    type: "control",
    fallback: "0601",
  },
} as const satisfies Record<string, FaultArgument>;

export const faultKinds = {
  "bad-crc": {
    needs: ["serial"],
    description: "serial: send a frame with a wrong checksum",
    arguments: { message: on("any") },
  },
  "nak-storm": {
    needs: ["serial"],
    description: "serial: answer good frames with NAK; three exhaust the repeats",
    arguments: { times: { description: "how many NAKs", type: "number", fallback: 3 } },
  },
  "drop-ack": {
    needs: ["serial"],
    description: "serial: send no ACK for a good frame, but act on it",
    arguments: {},
  },
  "late-ack": {
    needs: ["serial"],
    description: "serial: send ACK late, after the answer to the command",
    arguments: { ms: milliseconds("how late", 300) },
  },
  "half-frame": {
    description: "send only the first half of a message",
    arguments: { message: on("report") },
  },
  split: {
    description: "send a message in pieces with pauses (above T1: a broken frame on serial)",
    arguments: {
      message: on("any"),
      bytes: { description: "bytes in a piece", type: "number", fallback: 1 },
      ms: milliseconds("pause between pieces", 5),
    },
  },
  delay: {
    description: "send a message late (above T3 or T4: a time-out)",
    arguments: { message: on("answer"), ms: milliseconds("how late", 6_000) },
  },
  duplicate: { description: "send the same bytes twice", arguments: { message: on("report") } },
  "noise-before": {
    description: "send foreign bytes in front of a message",
    arguments: {
      message: on("any"),
      hex: { description: "the bytes", type: "hex", fallback: "00ff1055" },
    },
  },
  "noise-inside": {
    description: "send foreign bytes in the middle of a message",
    arguments: {
      message: on("report"),
      hex: { description: "the bytes", type: "hex", fallback: "00ff1055" },
    },
  },
  "extended-length": {
    description: "use the three-byte length also for short messages",
    arguments: { message: on("any") },
  },
  "wrong-length": {
    description: "state a wrong length",
    arguments: {
      message: on("report"),
      by: { description: "how much too long (negative: too short)", type: "number", fallback: 1 },
    },
  },
  mute: {
    description: "fall silent at a moment, not even ACK, until the command is over",
    arguments: {
      at: { ...at, fallback: "report" },
      ms: milliseconds("silence at least so long", 0),
      run: {
        description: "at=command only: carry the command out in silence",
        type: "word",
        words: ["yes", "no"],
        fallback: "no",
      },
    },
  },
  unplug: {
    description: "close the socket or take the pty away at a moment",
    arguments: {
      at: { ...at, fallback: "report" },
      ms: milliseconds("stay away so long", 0),
    },
  },
  reboot: {
    description: "restart at a moment; what was not final is reversed after the start",
    arguments: { at: { ...at, fallback: "charged" } },
  },
  hold: {
    description: "stop at a moment until the faults are taken back, or for a time",
    arguments: {
      at: { ...at, fallback: "reported" },
      ms: milliseconds("at most so long, 0 without limit", 0),
    },
  },
  refuse: {
    description: "refuse the command with 84 xx in place of 80 00",
    arguments: { code: { description: "xx", type: "hex", fallback: "83" } },
  },
  fail: {
    description: "end the command with 06 1E before the bank is asked",
    arguments: { code: { description: "result code", type: "hex", fallback: "a1" } },
  },
  "refuse-abort": { description: "answer Abort (06 B0) with 84 83", arguments: {} },
  "ignore-abort": { description: "do not answer Abort (06 B0)", arguments: {} },
  "late-approval": {
    description: "take Abort (06 B0) with 80 00 and approve all the same",
    arguments: {},
  },
  "other-amount": {
    description: "charge and report another amount",
    arguments: {
      by: { description: "difference in minor units", type: "number", fallback: 1 },
    },
  },
  "no-result": { description: "04 0F without result code (field 27)", arguments: {} },
  "no-report": { description: "complete an approved payment without 04 0F", arguments: {} },
  "report-then-abort": {
    description: "good 04 0F, acknowledged, then 06 1E",
    arguments: {
      code: { description: "result code of 06 1E", type: "hex", fallback: "6c" },
      charged: {
        description: "whether the charge stays",
        type: "word",
        words: ["yes", "no"],
        fallback: "no",
      },
    },
  },
  "abort-without-code": { description: "06 1E without a result code", arguments: {} },
  "wrong-pin-first": {
    description: "report 27 37 (wrong PIN) first and run the round again",
    arguments: {},
  },
  "unknown-message": {
    description: "send a message that a register cannot know before 04 0F",
    arguments: { hex: { description: "the message", type: "hex", fallback: "0fa1020102" } },
  },
  "unknown-fields": { description: "unknown tags and an unknown field in 04 0F", arguments: {} },
  charset: {
    description: "texts in a set that was not agreed",
    arguments: {
      times: { ...sharedArguments.times, fallback: 0 },
      set: {
        description: "the set",
        type: "word",
        words: ["iso8859-1", "iso8859-2", "utf8", "zvt7"],
        fallback: "iso8859-1",
      },
    },
  },
  "bare-repeat": {
    description: "answer Repeat Receipt (06 20) with a bare 06 0F",
    arguments: { command: { ...sharedArguments.command, fallback: "0620" } },
  },
  "print-first": { description: "print messages before 04 0F", arguments: {} },
  "print-container": {
    description: "06 D1 with the receipt type in a container behind the text",
    arguments: {},
  },
  "no-timeout-byte": {
    description: "04 FF with a container but without the time-out byte",
    arguments: {},
  },
} as const satisfies Record<string, FaultKind>;

export type FaultName = keyof typeof faultKinds;

export const zvtFaults: FaultTable = {
  kinds: faultKinds,
  shared: sharedArguments,
  points: pointDescriptions,
};
