import type { FaultBox } from "../../faults/fault-box.ts";
import type { FaultArguments } from "../../faults/fault-request.ts";
import type { Disturbance } from "../../port/disturbance.ts";
import type { Closing, Interference } from "../link/register-line.ts";
import type { Word } from "../link/session-machine.ts";
import type { FaultName } from "./fault-table.ts";

/** The part that a line asks before it answers and before bytes leave it; the faults answer. */
export class FaultyWire implements Interference {
  readonly #box: FaultBox;

  constructor(box: FaultBox) {
    this.#box = box;
  }

  get mute(): boolean {
    return this.#box.muted;
  }

  enquiry(): Word | undefined {
    if (this.#take("silent-enq")) return "silence";
    return this.#take("nak-enq") ? "nak" : undefined;
  }

  request(): { readonly word?: Word; readonly taken?: boolean; readonly delayMs: number } {
    if (this.#take("nak-frame")) return { word: "nak", taken: false, delayMs: 0 };
    if (this.#take("no-ack")) return { word: "silence", taken: true, delayMs: 0 };
    return { delayMs: Number(this.#take("late-ack")?.["ms"] ?? 0) };
  }

  rewrite(body: Uint8Array): Uint8Array {
    const by = Number(this.#take("wrong-length")?.["by"] ?? 0);
    if (by <= 0) return body.slice(0, Math.max(body.length + by, 0));
    return Uint8Array.of(...body, ...new Uint8Array(by).fill(BLANK));
  }

  disturb(): readonly Disturbance[] {
    return disturbances.flatMap(({ name, make }) => {
      const found = this.#take(name);
      return found ? [make(found)] : [];
    });
  }

  withholdsEot(): boolean {
    return this.#take("no-eot") !== undefined;
  }

  parity(): boolean {
    return this.#take("parity") !== undefined;
  }

  closing(): Closing | undefined {
    if (this.#take("left-open")) return "left-open";
    const closes = this.#take("close");
    return closes && (closes["when"] === "before" ? "before" : "middle");
  }

  #take(name: FaultName): FaultArguments | undefined {
    return this.#box.take(name, { command: undefined });
  }
}

const BLANK = 0x20;

interface DisturbanceKind {
  readonly name: FaultName;
  make(given: FaultArguments): Disturbance;
}

const noiseOf = ({ hex }: FaultArguments): Uint8Array =>
  new Uint8Array(Buffer.from(String(hex), "hex"));

const disturbances: readonly DisturbanceKind[] = [
  { name: "bad-check", make: () => ({ kind: "bad-check" }) },
  { name: "noise-inside", make: (given) => ({ kind: "noise-inside", noise: noiseOf(given) }) },
  { name: "half-reply", make: () => ({ kind: "half" }) },
  { name: "duplicate", make: () => ({ kind: "duplicate" }) },
  { name: "noise-before", make: (given) => ({ kind: "noise-before", noise: noiseOf(given) }) },
  {
    name: "split",
    make: ({ bytes, ms }) => ({
      kind: "split",
      bytes: Math.max(1, Number(bytes)),
      pauseMs: Number(ms),
    }),
  },
];
