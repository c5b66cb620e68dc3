import { type Disturbance, disturbanceKinds } from "../port/register-line.ts";
import type { FaultArguments, FaultRequest } from "./fault-kinds.ts";

/** An armed fault. */
export interface ArmedFault extends FaultRequest {
  readonly id: number;
  /** How often the fault still strikes; null: without end. */
  remaining: number | null;
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
  /** The armed faults, and how many strikes each lets pass first. */
  readonly #armed = new Map<ArmedFault, number>();
  #lastId = 0;
  /** Whether the fault `mute` keeps all bytes from leaving any line. */
  muted = false;
  /** Called at every strike, for the trace. */
  onStrike: (name: string) => void = () => {};

  arm(request: FaultRequest): ArmedFault {
    const { times, skip } = request.arguments as { times: number; skip: number };
    const id = ++this.#lastId;
    const armed = { ...request, id, remaining: times === 0 ? null : times, struck: 0 };
    this.#armed.set(armed, skip);
    return { ...armed };
  }

  get armed(): readonly ArmedFault[] {
    return [...this.#armed.keys()].map((armed) => ({ ...armed }));
  }

  /** Takes all faults back. Returns how many. */
  disarm(): number {
    const { size } = this.#armed;
    this.#armed.clear();
    return size;
  }

  /** Returns the arguments of a fault that strikes now, and counts it down; undefined: none. */
  take(name: string, occasion: Occasion): FaultArguments | undefined {
    for (const [armed, passes] of this.#armed) {
      if (armed.name !== name || !strikesAt(armed.arguments, occasion)) continue;
      if (passes > 0) {
        this.#armed.set(armed, passes - 1);
        continue;
      }
      armed.struck += 1;
      if (armed.remaining !== null && --armed.remaining <= 0) this.#armed.delete(armed);
      this.onStrike(name);
      return armed.arguments;
    }
    return undefined;
  }

  /** Returns the faults that strike at this moment, each used once. */
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

/**
 * The armed faults, asked by a line before it answers and before bytes leave it. A protocol's own
 * class adds `rewrite`, asked once for each message for the bytes sent in its place, and `disturb`,
 * asked for each transmission, repeats included. A fault that is handed out counts as used.
 */
export abstract class FaultyWire<N extends string> {
  readonly #box: FaultBox;
  readonly #names: Readonly<Partial<Record<Disturbance["kind"], N>>>;

  /** `names`: the protocol's own names of the disturbances that this line can have. */
  constructor(box: FaultBox, names: Readonly<Partial<Record<Disturbance["kind"], N>>>) {
    this.#box = box;
    this.#names = names;
  }

  /** Whether the register hears nothing at all from the terminal, not even ACK. */
  get mute(): boolean {
    return this.#box.muted;
  }

  protected take(name: N, occasion: Occasion): FaultArguments | undefined {
    return this.#box.take(name, occasion);
  }

  /** Returns the armed disturbances that strike now, in the order in which they are applied. */
  protected disturbances(occasion: Occasion): readonly Disturbance[] {
    return disturbanceKinds.flatMap((kind) => {
      const name = this.#names[kind];
      const given = name && this.take(name, occasion);
      return given ? [{ kind, given }] : [];
    });
  }
}
