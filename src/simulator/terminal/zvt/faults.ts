import { type FaultBox, FaultyWire } from "../faults/fault-box.ts";
import {
  choice,
  type FaultArgument,
  type FaultKind,
  type FaultTable,
  fault,
  faultOf,
  hex,
  number,
  repetition,
} from "../faults/fault-kinds.ts";
import type { Disturbance, Transport } from "../port/register-line.ts";

/** Moments of a command at which a fault can strike; the order is that of a payment. */
const moments = {
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
} as const;
export type Point = keyof typeof moments;
export const points = Object.keys(moments) as readonly Point[];

/** Kinds of messages that the terminal sends. */
const messageKinds = ["answer", "prompt", "report", "print", "end", "any"] as const;
type MessageKind = (typeof messageKinds)[number];

const at = (fallback: Point): FaultArgument => choice("moment", points, fallback);
const on = (fallback: MessageKind): FaultArgument =>
  choice("which messages", messageKinds, fallback);
const onlyIn = (fallback: string): FaultArgument => ({
  description: "only in this command, four hexadecimal digits, or any",
  type: "control",
  fallback,
});
const noise = hex("the bytes", "00ff1055");
const serial = ["serial"] as const;

export const faultKinds = {
  "bad-crc": faultOf(serial, "serial: send a frame with a wrong checksum", { message: on("any") }),
  "nak-storm": faultOf(serial, "serial: answer good frames with NAK; three exhaust the repeats", {
    times: number("how many NAKs", 3),
  }),
  "drop-ack": faultOf(serial, "serial: send no ACK for a good frame, but act on it"),
  "late-ack": faultOf(serial, "serial: send ACK late, after the answer to the command", {
    ms: number("how late", 300),
  }),
  "half-frame": fault("send only the first half of a message", { message: on("report") }),
  split: fault("send a message in pieces with pauses (above T1: a broken frame on serial)", {
    message: on("any"),
    bytes: number("bytes in a piece", 1),
    ms: number("pause between pieces", 5),
  }),
  delay: fault("send a message late (above T3 or T4: a time-out)", {
    message: on("answer"),
    ms: number("how late", 6_000),
  }),
  duplicate: fault("send the same bytes twice", { message: on("report") }),
  "noise-before": fault("send foreign bytes in front of a message", {
    message: on("any"),
    hex: noise,
  }),
  "noise-inside": fault("send foreign bytes in the middle of a message", {
    message: on("report"),
    hex: noise,
  }),
  "extended-length": fault("use the three-byte length also for short messages", {
    message: on("any"),
  }),
  "wrong-length": fault("state a wrong length", {
    message: on("report"),
    by: number("how much too long (negative: too short)", 1),
  }),
  mute: fault("fall silent at a moment, not even ACK, until the command is over", {
    at: at("report"),
    ms: number("silence at least so long", 0),
    run: choice("at=command only: carry the command out in silence", ["yes", "no"], "no"),
  }),
  unplug: fault("close the socket or take the pty away at a moment", {
    at: at("report"),
    ms: number("stay away so long", 0),
  }),
  reboot: fault("restart at a moment; what was not final is reversed after the start", {
    at: at("charged"),
  }),
  hold: fault("stop at a moment until the faults are taken back, or for a time", {
    at: at("reported"),
    ms: number("at most so long, 0 without limit", 0),
  }),
  refuse: fault("refuse the command with 84 xx in occasion of 80 00", { code: hex("xx", "83") }),
  fail: fault("end the command with 06 1E before the bank is asked", {
    code: hex("result code", "a1"),
  }),
  "refuse-abort": fault("answer Abort (06 B0) with 84 83"),
  "ignore-abort": fault("do not answer Abort (06 B0)"),
  "late-approval": fault("take Abort (06 B0) with 80 00 and approve all the same"),
  "other-amount": fault("charge and report another amount", {
    by: number("difference in minor units", 1),
  }),
  "no-result": fault("04 0F without result code (field 27)"),
  "no-report": fault("complete an approved payment without 04 0F"),
  "report-then-abort": fault("good 04 0F, acknowledged, then 06 1E", {
    code: hex("result code of 06 1E", "6c"),
    charged: choice("whether the charge stays", ["yes", "no"], "no"),
  }),
  "abort-without-code": fault("06 1E without a result code"),
  "wrong-pin-first": fault("report 27 37 (wrong PIN) first and run the round again"),
  "unknown-message": fault("send a message that a register cannot know before 04 0F", {
    hex: hex("the message", "0fa1020102"),
  }),
  "unknown-fields": fault("unknown tags and an unknown field in 04 0F"),
  charset: fault("texts in a set that was not agreed", {
    times: { ...repetition.times, fallback: 0 },
    set: choice("the set", ["iso8859-1", "iso8859-2", "utf8", "zvt7"], "iso8859-1"),
  }),
  "bare-repeat": fault("answer Repeat Receipt (06 20) with a bare 06 0F", {
    command: onlyIn("0620"),
  }),
  "print-first": fault("print messages before 04 0F"),
  "print-container": fault("06 D1 with the receipt type in a container after the text"),
  "no-timeout-byte": fault("04 FF with a container but without the time-out byte"),
} as const satisfies Record<string, FaultKind>;

export type FaultName = keyof typeof faultKinds;

export const zvtFaults: FaultTable = {
  kinds: faultKinds,
  shared: { ...repetition, command: onlyIn("0601") },
  points: moments,
};

const names = {
  "noise-inside": "noise-inside",
  half: "half-frame",
  duplicate: "duplicate",
  "noise-before": "noise-before",
  split: "split",
  delay: "delay",
} as const;

/** The armed faults on the wire of a ZVT terminal. */
export class ZvtFaultyWire extends FaultyWire<FaultName> {
  readonly #runningCommand: () => number | undefined;

  constructor(box: FaultBox, transport: Transport, runningCommand: () => number | undefined) {
    super(box, transport === "serial" ? { ...names, "bad-check": "bad-crc" } : names);
    this.#runningCommand = runningCommand;
  }

  rewrite(apdu: Uint8Array): Uint8Array {
    const occasion = { command: this.#runningCommand(), message: messageKindOf(apdu) };
    const extended = this.take("extended-length", occasion) ? extendedForm(apdu) : apdu;
    const wrong = this.take("wrong-length", occasion);
    return wrong ? wrongLength(extended, Number(wrong["by"])) : extended;
  }

  disturb(apdu: Uint8Array): readonly Disturbance[] {
    return this.disturbances({ command: this.#runningCommand(), message: messageKindOf(apdu) });
  }

  /** How a good frame of the register on a serial line is acknowledged. */
  acknowledge(
    apdu: Uint8Array,
  ): { readonly how: "ack"; readonly delayMs: number } | { readonly how: "nak" | "nothing" } {
    const occasion = { command: isCommand(apdu) ? controlOf(apdu) : this.#runningCommand() };
    if (this.take("nak-storm", occasion)) return { how: "nak" };
    if (this.take("drop-ack", occasion)) return { how: "nothing" };
    return { how: "ack", delayMs: Number(this.take("late-ack", occasion)?.["ms"] ?? 0) };
  }
}

function controlOf(apdu: Uint8Array): number {
  return ((apdu[0] ?? 0) << 8) + (apdu[1] ?? 0);
}

/** Whether a frame begins a command; answers and Abort belong to the running one. */
function isCommand(apdu: Uint8Array): boolean {
  return apdu[0] !== 0x80 && apdu[0] !== 0x84 && controlOf(apdu) !== 0x06b0;
}

function messageKindOf(apdu: Uint8Array): MessageKind {
  const control = controlOf(apdu);
  if (control >> 8 === 0x80 || control >> 8 === 0x84) return "answer";
  switch (control) {
    case 0x04ff:
      return "prompt";
    case 0x040f:
      return "report";
    case 0x06d1:
    case 0x06d3:
      return "print";
    case 0x060f:
    case 0x061e:
      return "end";
    default:
      return "any";
  }
}

/** Returns the message with a length of three bytes, which is allowed (docs/zvt.md 4.1). */
function extendedForm(apdu: Uint8Array): Uint8Array {
  const length = apdu[2] ?? 0;
  if (length === 0xff) return apdu;
  return Uint8Array.of(apdu[0] ?? 0, apdu[1] ?? 0, 0xff, length, 0, ...apdu.subarray(3));
}

function wrongLength(apdu: Uint8Array, by: number): Uint8Array {
  const wrong = apdu.slice();
  const at = wrong[2] === 0xff ? 3 : 2;
  wrong[at] = ((wrong[at] ?? 0) + by) & 0xff;
  return wrong;
}
