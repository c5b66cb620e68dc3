import type { FaultArguments, FaultRequest } from "./fault-kinds.ts";

export interface ArmedFault extends FaultRequest {
  readonly id: number;
  /** How often the fault can still strike; null: without limit. */
  remaining: number | null;
  struck: number;
}

interface Occasion {
  /** The running command's number; missing: no command runs, or the protocol has no numbers. */
  readonly command?: number | undefined;
  readonly message?: string;
  readonly point?: string;
}

const pointFaults = ["hold", "mute", "unplug", "reboot"] as const;
export type PointFault = FaultRequest & { readonly name: (typeof pointFaults)[number] };

/** Holds the armed faults, and gives each fault to the caller when the fault strikes. */
export class FaultBox {
  /** Each armed fault, with the number of times that it is still skipped before it strikes. */
  readonly #armed = new Map<ArmedFault, number>();
  #lastId = 0;
  /** Whether the fault `mute` keeps all bytes from leaving any line. */
  muted = false;
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

  /** Disarms all faults, and lets a silent terminal speak. Returns how many faults were armed. */
  disarm(): number {
    const { size } = this.#armed;
    this.#armed.clear();
    this.muted = false;
    return size;
  }

  /** Returns the arguments of a fault that strikes now, and counts it; undefined: none strikes. */
  take(name: string, occasion: Occasion = {}): FaultArguments | undefined {
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

  /** Returns the faults that strike at this moment, and counts one strike of each. */
  takeAt(point: string, command: number | undefined): PointFault[] {
    return pointFaults.flatMap((name) => {
      const found = this.take(name, { command, point });
      return found ? [{ name, arguments: found }] : [];
    });
  }

  /** Returns the faults that damage or delay a transmission. `hasCheck`: it has a checksum. */
  disturbances(occasion?: Occasion, hasCheck = true): readonly Disturbance[] {
    return disturbanceKinds.flatMap((kind) => {
      const given = hasCheck || kind !== "bad-crc" ? this.take(kind, occasion) : undefined;
      return given ? [{ kind, given }] : [];
    });
  }
}

function strikesAt({ command = "any", message = "any", at }: FaultArguments, occasion: Occasion) {
  return (
    (command === "any" || Number.parseInt(String(command), 16) === occasion.command) &&
    (message === "any" || message === occasion.message) &&
    at === occasion.point
  );
}

/** The faults that change bytes that leave the terminal, in the order of their application. */
const disturbanceKinds = [
  /** The frame is sent with one wrong bit in its checksum. */
  "bad-crc",
  "bad-check",
  "noise-inside",
  "half-frame",
  "half-reply",
  "duplicate",
  "noise-before",
  "split",
  "delay",
] as const;

interface Disturbance {
  readonly kind: (typeof disturbanceKinds)[number];
  readonly given: FaultArguments;
}

export type Pieces = ReadonlyArray<{ readonly pauseMs: number; readonly bytes: Uint8Array }>;

export function disturbedPieces(bytes: Uint8Array, disturbances: readonly Disturbance[]): Pieces {
  return disturbances.reduce<Pieces>(disturbPieces, [{ pauseMs: 0, bytes }]);
}

function disturbPieces(pieces: Pieces, { kind, given }: Disturbance): Pieces {
  const whole = Buffer.concat(pieces.map(({ bytes }) => bytes));
  const middle = whole.length >> 1;
  const [before, after] = [whole.subarray(0, middle), whole.subarray(middle)];
  const noise = Buffer.from(String(given["hex"]), "hex");
  switch (kind) {
    case "bad-crc":
    case "bad-check":
      return pieces;
    case "half-frame":
    case "half-reply":
      return [{ pauseMs: 0, bytes: before }];
    case "split": {
      const size = Math.max(1, Number(given["bytes"]));
      return Array.from({ length: Math.ceil(whole.length / size) }, (_, i) => ({
        pauseMs: i === 0 ? 0 : Number(given["ms"]),
        bytes: whole.subarray(i * size, (i + 1) * size),
      }));
    }
    case "duplicate":
      return [...pieces, ...pieces];
    case "noise-before":
      return [{ pauseMs: 0, bytes: noise }, ...pieces];
    case "noise-inside":
      return [{ pauseMs: 0, bytes: Buffer.concat([before, noise, after]) }];
    case "delay":
      return pieces.map((piece, i) => (i ? piece : { ...piece, pauseMs: Number(given["ms"]) }));
  }
}
