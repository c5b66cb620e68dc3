import { type Clock, sleep, type Timer } from "../../../shared/time.ts";
import type { FaultArguments } from "../faults/fault-kinds.ts";
import type { TraceEntry } from "../trace-log.ts";
import type { BytePort } from "./ports.ts";

/** The faults of bytes on their way out of the terminal, in the order in which they are applied. */
export const disturbanceKinds = [
  /** The check of a frame is wrong by one bit: done where the frame is built. */
  "bad-check",
  /** Foreign bytes in the middle of the message. */
  "noise-inside",
  /** Only the first half of the bytes leaves. */
  "half",
  /** All bytes leave twice. */
  "duplicate",
  "noise-before",
  /** The bytes leave in pieces with pauses between them. */
  "split",
  "delay",
] as const;

export interface Disturbance {
  readonly kind: (typeof disturbanceKinds)[number];
  /** The arguments of the fault: `bytes` in a piece, `ms` of a pause, `hex` of the noise. */
  readonly given: FaultArguments;
}

/** A part of a transmission, and the pause before it. */
interface Piece {
  readonly pauseMs: number;
  readonly bytes: Uint8Array;
}

/** Returns the pieces in which disturbed bytes leave. */
export function disturbedPieces(
  bytes: Uint8Array,
  disturbances: readonly Disturbance[],
): readonly Piece[] {
  let pieces: Piece[] = [{ pauseMs: 0, bytes }];
  for (const disturbance of disturbances) pieces = disturbPieces(pieces, disturbance);
  return pieces;
}

function disturbPieces(pieces: readonly Piece[], { kind, given }: Disturbance): Piece[] {
  const whole = join(pieces.map(({ bytes }) => bytes));
  const middle = whole.length >> 1;
  const pauseMs = pieces[0]?.pauseMs ?? 0;
  const noise = Buffer.from(String(given["hex"]), "hex");
  switch (kind) {
    case "bad-check":
      return [...pieces];
    case "half":
      return [{ pauseMs, bytes: whole.slice(0, middle) }];
    case "split": {
      const size = Math.max(1, Number(given["bytes"]));
      return Array.from({ length: Math.ceil(whole.length / size) }, (_, i) => ({
        pauseMs: i === 0 ? pauseMs : Number(given["ms"]),
        bytes: whole.slice(i * size, (i + 1) * size),
      }));
    }
    case "duplicate":
      return [...pieces, ...pieces];
    case "noise-before":
      return [{ pauseMs, bytes: noise }, ...pieces];
    case "noise-inside":
      return [{ pauseMs, bytes: join([whole.slice(0, middle), noise, whole.slice(middle)]) }];
    case "delay":
      return pieces.map((piece, i) => (i ? piece : { ...piece, pauseMs: Number(given["ms"]) }));
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

export type Transport = "tcp" | "serial";

/** An event on a wire, for the trace; `bytes` are a message, which is not safe to show as it is. */
export interface WireEvent extends TraceEntry {
  readonly bytes?: Uint8Array;
}

export interface LineOptions {
  readonly clock: Clock;
  /** The armed faults; `mute`: the register hears nothing at all from the terminal. */
  readonly interference: { readonly mute: boolean };
  readonly onWire: (event: WireEvent) => void;
}

export type Pieces = ReturnType<typeof disturbedPieces>;

/** Carries whole messages to and from one register on one port. */
export abstract class RegisterLine<
  O extends LineOptions = LineOptions,
  H extends { closed(): void } = { closed(): void },
> {
  readonly name: string;
  abstract readonly transport: Transport;
  /** The name of a message in the trace. */
  protected abstract readonly what: string;
  protected readonly port: BytePort;
  protected readonly options: O;
  protected handlers: H | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(port: BytePort, options: O) {
    this.name = port.name;
    this.port = port;
    this.options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  start(handlers: H): void {
    this.handlers = handlers;
    this.options.onWire({ what: "open" });
    this.port.start({ data: (bytes) => this.received(bytes), closed: () => this.#gone() });
  }

  close(): void {
    this.port.close();
  }

  protected abstract received(bytes: Uint8Array): void;

  /** The port has closed: ends everything that waits for it. */
  protected abstract ended(): void;

  /** Starts the one timer of the line anew. */
  protected wait(name: string, delayMs: number, work: () => void): void {
    this.stopWaiting();
    this.#timer = this.options.clock.startTimer(name, delayMs, work);
  }

  protected stopWaiting(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  /** Writes piece after piece, with the pause before each, as long as the line is open. */
  protected async leave(pieces: Pieces): Promise<void> {
    for (const { pauseMs, bytes } of pieces) {
      if (pauseMs > 0) await sleep(this.options.clock, "fault pause", pauseMs);
      if (this.#closed) return;
      this.write(bytes);
    }
  }

  protected write(bytes: Uint8Array): void {
    if (!this.options.interference.mute && !this.#closed) this.port.write(bytes);
  }

  protected receivedMessage(bytes: Uint8Array): void {
    this.options.onWire({ what: this.what, direction: "in", bytes });
  }

  /** `repeat`: how often this message was sent before. */
  protected sentMessage(bytes: Uint8Array, repeat = 0): void {
    if (this.options.interference.mute) return;
    const again = repeat > 0 ? { repeat } : {};
    this.options.onWire({ what: this.what, direction: "out", bytes, ...again });
  }

  #gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.ended();
    this.stopWaiting();
    this.options.onWire({ what: "close" });
    this.handlers?.closed();
  }
}
