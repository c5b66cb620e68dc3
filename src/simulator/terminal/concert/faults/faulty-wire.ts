import type { FaultBox } from "../../faults/fault-box.ts";
import type { FaultArguments } from "../../faults/fault-request.ts";
import { FaultyWire } from "../../faults/faulty-wire.ts";
import type { Disturbance } from "../../port/disturbance.ts";
import type { Closing, Interference } from "../link/concert-line.ts";
import type { LinkReply } from "../link/session-machine.ts";
import type { FaultName } from "./fault-table.ts";

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
export class ConcertFaultyWire extends FaultyWire<FaultName> implements Interference {
  constructor(box: FaultBox) {
    super(box, names);
  }

  enquiry(): LinkReply | undefined {
    if (this.#fault("silent-enq")) return "silence";
    return this.#fault("nak-enq") ? "nak" : undefined;
  }

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

  withholdsEot(): boolean {
    return this.#fault("no-eot") !== undefined;
  }

  parity(): boolean {
    return this.#fault("parity") !== undefined;
  }

  closing(): Closing | undefined {
    if (this.#fault("left-open")) return "left-open";
    const closes = this.#fault("close");
    return closes && (closes["when"] === "before" ? "before" : "middle");
  }

  #fault(name: FaultName): FaultArguments | undefined {
    return this.take(name, { command: undefined });
  }
}
