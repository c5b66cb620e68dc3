import type { FaultBox } from "../../faults/fault-box.ts";
import { FaultyWire } from "../../faults/faulty-wire.ts";
import type { Disturbance } from "../../port/disturbance.ts";
import type { Transport } from "../../port/register-line.ts";
import type { Acknowledgement, Interference } from "../link/line.ts";
import type { FaultName, MessageKind } from "./fault-table.ts";

const names = {
  "noise-inside": "noise-inside",
  half: "half-frame",
  duplicate: "duplicate",
  "noise-before": "noise-before",
  split: "split",
  delay: "delay",
} as const;

/** The armed faults on the wire of a ZVT terminal. */
export class ZvtFaultyWire extends FaultyWire<FaultName> implements Interference {
  readonly #runningCommand: () => number | undefined;

  constructor(box: FaultBox, transport: Transport, runningCommand: () => number | undefined) {
    super(box, transport === "serial" ? { ...names, "bad-check": "bad-crc" } : names);
    this.#runningCommand = runningCommand;
  }

  rewrite(apdu: Uint8Array): Uint8Array {
    const chance = { command: this.#runningCommand(), message: messageKindOf(apdu) };
    const extended = this.take("extended-length", chance) ? extendedForm(apdu) : apdu;
    const wrong = this.take("wrong-length", chance);
    return wrong ? wrongLength(extended, Number(wrong["by"])) : extended;
  }

  disturb(apdu: Uint8Array): readonly Disturbance[] {
    return this.disturbances({ command: this.#runningCommand(), message: messageKindOf(apdu) });
  }

  acknowledge(apdu: Uint8Array): Acknowledgement {
    const chance = { command: isCommand(apdu) ? controlOf(apdu) : this.#runningCommand() };
    if (this.take("nak-storm", chance)) return { how: "nak" };
    if (this.take("drop-ack", chance)) return { how: "nothing" };
    return { how: "ack", delayMs: Number(this.take("late-ack", chance)?.["ms"] ?? 0) };
  }
}

function controlOf(apdu: Uint8Array): number {
  return ((apdu[0] ?? 0) << 8) + (apdu[1] ?? 0);
}

/** A frame of the register that begins a command; answers and Abort belong to the running one. */
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

/** docs/zvt.md 4.1: the three-byte form is allowed for short data too. */
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
