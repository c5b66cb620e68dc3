import type { Disturbance, Interference } from "../port/register-line.ts";
import type { FaultArguments, FaultRequest } from "./fault-kinds.ts";

/** An armed fault. */
export interface ArmedFault extends FaultRequest {
  readonly id: number;
  /** How often it strikes yet; null: without end. */
  readonly remaining: number | null;
  readonly struck: number;
}

interface Loaded {
  readonly id: number;
  readonly request: FaultRequest;
  remaining: number;
  skip: number;
  struck: number;
}

/** The command and moment at which a fault is asked for. */
interface Occasion {
  /** Number of the running command; undefined when none runs. */
  readonly command: number | undefined;
  readonly message?: string;
  readonly point?: string;
}

const pointFaults = ["hold", "mute", "unplug", "reboot"] as const;
export type PointFault = (typeof pointFaults)[number];

/** Holds the armed faults and hands each one out when it strikes. */
export class FaultBox {
  readonly #loaded = new Set<Loaded>();
  #lastId = 0;
  /** Nothing leaves any line, see the fault `mute`. */
  muted = false;
  /** Called at every strike, for the trace. */
  onStrike: (name: string) => void = () => {};

  arm(request: FaultRequest): ArmedFault {
    const { times, skip } = request.arguments as { times: number; skip: number };
    const loaded = {
      id: ++this.#lastId,
      request,
      remaining: times === 0 ? Number.POSITIVE_INFINITY : times,
      skip,
      struck: 0,
    };
    this.#loaded.add(loaded);
    return view(loaded);
  }

  get armed(): readonly ArmedFault[] {
    return [...this.#loaded].map(view);
  }

  /** Takes faults back: one, or all of them. Answers how many. */
  disarm(id?: number): number {
    const going = [...this.#loaded].filter((loaded) => id === undefined || loaded.id === id);
    for (const loaded of going) this.#loaded.delete(loaded);
    return going.length;
  }

  /** Returns the arguments of a fault that strikes now, and counts it down; undefined: none. */
  take(name: string, occasion: Occasion): FaultArguments | undefined {
    for (const loaded of this.#loaded) {
      if (loaded.request.name !== name || !strikesAt(loaded.request.arguments, occasion)) continue;
      if (loaded.skip > 0) {
        loaded.skip -= 1;
        continue;
      }
      loaded.remaining -= 1;
      loaded.struck += 1;
      if (loaded.remaining <= 0) this.#loaded.delete(loaded);
      this.onStrike(name);
      return loaded.request.arguments;
    }
    return undefined;
  }

  /** The faults that strike at this moment, each used once. */
  takeAt(
    point: string,
    command: number | undefined,
  ): { name: PointFault; arguments: FaultArguments }[] {
    return pointFaults.flatMap((name) => {
      const found = this.take(name, { command, point });
      return found ? [{ name, arguments: found }] : [];
    });
  }
}

function strikesAt({ command, message, at }: FaultArguments, occasion: Occasion): boolean {
  // A protocol whose commands have no numbers has no such argument.
  const anyCommand = command === undefined || command === "any";
  const wantedCommand = anyCommand ? undefined : Number.parseInt(String(command), 16);
  return (
    (wantedCommand === undefined || wantedCommand === occasion.command) &&
    (message === undefined || message === "any" || message === occasion.message) &&
    at === occasion.point
  );
}

function view({ id, request, remaining, struck }: Loaded): ArmedFault {
  return {
    ...request,
    id,
    remaining: Number.isFinite(remaining) ? remaining : null,
    struck,
  };
}

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

  protected take(name: N, occasion: Occasion): FaultArguments | undefined {
    return this.#box.take(name, occasion);
  }

  /** The armed disturbances that strike now, in the order in which they are applied. */
  protected disturbances(occasion: Occasion): readonly Disturbance[] {
    return (Object.keys(makers) as Kind[]).flatMap((kind) => {
      const name = this.#names[kind];
      const found = name && this.take(name, occasion);
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
