import type { Disturbance } from "../port/disturbance.ts";
import type { Interference } from "../port/register-line.ts";
import type { Chance, FaultBox } from "./fault-box.ts";
import type { FaultArguments } from "./fault-request.ts";

type Kind = Disturbance["kind"];

/** The armed faults, asked by a line before it answers and before bytes leave it. */
export abstract class FaultyWire<N extends string> implements Interference {
  readonly #box: FaultBox;
  readonly #names: Readonly<Partial<Record<Kind, N>>>;

  /** `names`: the protocol's own names of the disturbances that this line can have. */
  constructor(box: FaultBox, names: Readonly<Partial<Record<Kind, N>>>) {
    this.#box = box;
    this.#names = names;
  }

  get mute(): boolean {
    return this.#box.muted;
  }

  abstract rewrite(message: Uint8Array): Uint8Array;
  abstract disturb(message: Uint8Array): readonly Disturbance[];

  protected take(name: N, chance: Chance): FaultArguments | undefined {
    return this.#box.take(name, chance);
  }

  /** Every armed disturbance whose chance this is, in the order in which they are applied. */
  protected disturbances(chance: Chance): readonly Disturbance[] {
    return (Object.keys(makers) as Kind[]).flatMap((kind) => {
      const name = this.#names[kind];
      const found = name && this.take(name, chance);
      return found ? [makers[kind](found)] : [];
    });
  }
}

const noiseOf = ({ hex }: FaultArguments): Uint8Array =>
  new Uint8Array(Buffer.from(String(hex), "hex"));

const makers: Readonly<Record<Kind, (given: FaultArguments) => Disturbance>> = {
  "bad-check": () => ({ kind: "bad-check" }),
  "noise-inside": (given) => ({ kind: "noise-inside", noise: noiseOf(given) }),
  half: () => ({ kind: "half" }),
  duplicate: () => ({ kind: "duplicate" }),
  "noise-before": (given) => ({ kind: "noise-before", noise: noiseOf(given) }),
  split: ({ bytes, ms }) => ({
    kind: "split",
    bytes: Math.max(1, Number(bytes)),
    pauseMs: Number(ms),
  }),
  delay: ({ ms }) => ({ kind: "delay", delayMs: Number(ms) }),
};
