import { fromHex } from "../../../zvt/index.ts";
import type { Acknowledgement, Disturbance, Interference, Transport } from "../zvt/link/line.ts";
import type { FaultArguments, FaultRequest } from "./fault-request.ts";
import type { FaultName, MessageKind, Point } from "./fault-table.ts";

/** A fault that waits for its chance. */
export interface ArmedFault extends FaultRequest {
  readonly id: number;
  /** How often it will still strike; null without end. */
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

/** Where the terminal is when a fault is asked for. */
interface Chance {
  /** Control field of the running command; undefined when none runs. */
  readonly command: number | undefined;
  readonly message?: MessageKind;
  readonly point?: Point;
}

const pointFaults = ["hold", "mute", "unplug", "reboot"] as const;
export type PointFault = (typeof pointFaults)[number];

/** Holds the armed faults and hands each one out when its chance has come. */
export class FaultBox {
  readonly #loaded = new Set<Loaded>();
  #lastId = 0;
  /** Nothing leaves any line, see the fault `mute`. */
  muted = false;
  /** Told about every strike, for the trace. */
  onStrike: (name: FaultName) => void = () => {};

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

  /** The arguments of a fault whose chance this is, which is thereby used; else undefined. */
  take(name: FaultName, chance: Chance): FaultArguments | undefined {
    for (const loaded of this.#loaded) {
      if (loaded.request.name !== name || !fits(loaded.request.arguments, chance)) continue;
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
    point: Point,
    command: number | undefined,
  ): { name: PointFault; arguments: FaultArguments }[] {
    return pointFaults.flatMap((name) => {
      const found = this.take(name, { command, point });
      return found ? [{ name, arguments: found }] : [];
    });
  }

  /** What a line asks before bytes leave it. */
  interference(transport: Transport, runningCommand: () => number | undefined): Interference {
    const box = this;
    return {
      get mute() {
        return box.muted;
      },
      rewrite: (apdu) => this.#rewrite(apdu, runningCommand()),
      disturb: (apdu) => this.#disturb(apdu, transport, runningCommand()),
      acknowledge: (apdu) => this.#acknowledge(apdu, runningCommand()),
    };
  }

  #rewrite(apdu: Uint8Array, command: number | undefined): Uint8Array {
    const chance = { command, message: messageKindOf(apdu) };
    const extended = this.take("extended-length", chance) ? extendedForm(apdu) : apdu;
    const wrong = this.take("wrong-length", chance);
    return wrong ? wrongLength(extended, Number(wrong["by"])) : extended;
  }

  #disturb(
    apdu: Uint8Array,
    transport: Transport,
    command: number | undefined,
  ): readonly Disturbance[] {
    if (this.#loaded.size === 0) return [];
    const chance = { command, message: messageKindOf(apdu) };
    return disturbances.flatMap(({ name, serialOnly, make }) => {
      if (serialOnly && transport !== "serial") return [];
      const found = this.take(name, chance);
      return found ? [make(found)] : [];
    });
  }

  #acknowledge(apdu: Uint8Array, running: number | undefined): Acknowledgement {
    const chance = { command: isCommand(apdu) ? controlOf(apdu) : running };
    if (this.take("nak-storm", chance)) return { how: "nak" };
    if (this.take("drop-ack", chance)) return { how: "nothing" };
    return { how: "ack", delayMs: Number(this.take("late-ack", chance)?.["ms"] ?? 0) };
  }
}

interface DisturbanceKind {
  readonly name: FaultName;
  readonly serialOnly?: boolean;
  make(given: FaultArguments): Disturbance;
}

const disturbances: readonly DisturbanceKind[] = [
  { name: "bad-crc", serialOnly: true, make: () => ({ kind: "bad-crc" }) },
  {
    name: "noise-inside",
    make: ({ hex }) => ({ kind: "noise-inside", noise: fromHex(String(hex)) }),
  },
  { name: "half-frame", make: () => ({ kind: "half" }) },
  { name: "duplicate", make: () => ({ kind: "duplicate" }) },
  {
    name: "noise-before",
    make: ({ hex }) => ({ kind: "noise-before", noise: fromHex(String(hex)) }),
  },
  {
    name: "split",
    make: ({ bytes, ms }) => ({
      kind: "split",
      bytes: Math.max(1, Number(bytes)),
      pauseMs: Number(ms),
    }),
  },
  { name: "delay", make: ({ ms }) => ({ kind: "delay", delayMs: Number(ms) }) },
];

function fits({ command, message, at }: FaultArguments, chance: Chance): boolean {
  const wantedCommand = command === "any" ? undefined : Number.parseInt(String(command), 16);
  return (
    (wantedCommand === undefined || wantedCommand === chance.command) &&
    (message === undefined || message === "any" || message === chance.message) &&
    at === chance.point
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
