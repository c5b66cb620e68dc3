import { toHex } from "../../../zvt/index.ts";
import type { FaultBox } from "../faults/fault-box.ts";
import { choice, faultsOf, hex, number, repetition } from "../faults/fault-kinds.ts";
import type { Transport } from "../port/ports.ts";
import texts from "../texts.json" with { type: "json" };

/** The moments of a command at which a fault can strike, in the order of a payment. */
export type Point = keyof typeof texts.moments.zvt;
const points = Object.keys(texts.moments.zvt) as readonly Point[];

const messageKinds = ["answer", "prompt", "report", "print", "end", "any"] as const;
type MessageKind = (typeof messageKinds)[number];

const at = (fallback: Point) => choice("moment", points, fallback);
const on = (fallback: MessageKind) => choice("which messages", messageKinds, fallback);
const onlyIn = (fallback: string) => ({
  description: "only in this command, four hexadecimal digits, or any",
  type: "control" as const,
  fallback,
});
const noise = hex("the bytes", "00ff1055");
const serial = ["serial"] as const;

export type FaultName = keyof typeof texts.faults.zvt;

const faultKinds = faultsOf<FaultName>(texts.faults.zvt, {
  "bad-crc": { needs: serial, message: on("any") },
  "nak-storm": { needs: serial, times: number("how many NAKs", 3) },
  "drop-ack": { needs: serial },
  "late-ack": { needs: serial, ms: number("how late", 300) },
  "half-frame": { message: on("report") },
  split: {
    message: on("any"),
    bytes: number("bytes in a piece", 1),
    ms: number("pause between pieces", 5),
  },
  delay: { message: on("answer"), ms: number("how late", 6_000) },
  duplicate: { message: on("report") },
  "noise-before": { message: on("any"), hex: noise },
  "noise-inside": { message: on("report"), hex: noise },
  "extended-length": { message: on("any") },
  "wrong-length": {
    message: on("report"),
    by: number("how much too long (negative: too short)", 1),
  },
  mute: {
    at: at("report"),
    ms: number("silence at least so long", 0),
    run: choice("at=command only: carry the command out in silence", ["yes", "no"], "no"),
  },
  unplug: { at: at("report"), ms: number("stay away so long", 0) },
  reboot: { at: at("charged") },
  hold: { at: at("reported"), ms: number("at most so long, 0 without limit", 0) },
  refuse: { code: hex("xx", "83") },
  fail: { code: hex("result code", "a1") },
  "other-amount": { by: number("difference in minor units", 1) },
  "report-then-abort": {
    code: hex("result code of 06 1E", "6c"),
    charged: choice("whether the charge stays", ["yes", "no"], "no"),
  },
  "unknown-message": { hex: hex("the message", "0fa1020102") },
  charset: {
    times: { ...repetition.times, fallback: 0 },
    set: choice("the set", ["iso8859-1", "iso8859-2", "utf8", "zvt7"], "iso8859-1"),
  },
  "bare-repeat": { command: onlyIn("0620") },
});

export const zvtFaults = {
  kinds: faultKinds,
  shared: { ...repetition, command: onlyIn("0601") },
  points: texts.moments.zvt,
};

interface Wire {
  readonly faults: FaultBox;
  readonly transport: Transport;
  readonly running: () => number | undefined;
}

/** Returns the message, whose length field a fault can change. Each call uses up one strike. */
export function rewritten({ faults, running }: Wire, apdu: Uint8Array): Uint8Array {
  const occasion = { command: running(), message: messageKindOf(apdu) };
  const extended = faults.take("extended-length", occasion) ? extendedForm(apdu) : apdu;
  const wrong = faults.take("wrong-length", occasion);
  return wrong ? wrongLength(extended, Number(wrong["by"])) : extended;
}

/** Returns the faults that disturb one transmission, and uses up one strike of each. */
export function disturbances({ faults, running, transport }: Wire, apdu: Uint8Array) {
  const occasion = { command: running(), message: messageKindOf(apdu) };
  return faults.disturbances(occasion, transport === "serial");
}

/** Returns whether a good frame gets ACK, NAK or nothing, and how late, in milliseconds. */
export function ackOf({ faults, running }: Wire, apdu: Uint8Array) {
  // Answers of the register and Abort are no commands: they belong to the running command.
  const isCommand = apdu[0] !== 0x80 && apdu[0] !== 0x84 && controlOf(apdu) !== 0x06b0;
  const occasion = { command: isCommand ? controlOf(apdu) : running() };
  if (faults.take("nak-storm", occasion)) return { how: "nak", delayMs: 0 };
  if (faults.take("drop-ack", occasion)) return { how: "nothing", delayMs: 0 };
  return { how: "ack", delayMs: Number(faults.take("late-ack", occasion)?.["ms"] ?? 0) };
}

function controlOf(apdu: Uint8Array): number {
  return ((apdu[0] ?? 0) << 8) + (apdu[1] ?? 0);
}

const messageKindByControl: Readonly<Record<string, MessageKind>> = {
  "04ff": "prompt",
  "040f": "report",
  "06d1": "print",
  "06d3": "print",
  "060f": "end",
  "061e": "end",
};

function messageKindOf(apdu: Uint8Array): MessageKind {
  if (apdu[0] === 0x80 || apdu[0] === 0x84) return "answer";
  return messageKindByControl[toHex(apdu.subarray(0, 2))] ?? "any";
}

/** Returns the message with a length field of three bytes, also allowed (docs/zvt.md 4.1). */
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
