/**
 * A line carries whole messages to and from one register. Two kinds: `serial-line.ts` (frames,
 * checksum, ACK and NAK, repeats) and `tcp-line.ts` (bare messages). The code above a line knows
 * neither.
 */
export interface Line {
  readonly name: string;
  readonly transport: Transport;
  readonly closed: boolean;
  start(handlers: LineHandlers): void;
  /**
   * Sends one message, after those before it. "sent": acknowledged by the other side's transport
   * (serial), handed to the network (TCP). "failed": repeats used up, or the line is gone.
   */
  send(apdu: Uint8Array): Promise<"sent" | "failed">;
  /** Serial: from now on at this speed, bits per second. A line without this has no speed. */
  changeSpeed?(bitsPerSecond: number): void;
  /** Says, in bytes that are no ZVT, that ZVT is off (docs/zvt.md 12.7). */
  refuseProtocol(): void;
  close(): void;
}

export type Transport = "tcp" | "serial";

export interface LineHandlers {
  apdu(apdu: Uint8Array): void;
  /** Called exactly once. */
  closed(): void;
}

/** Everything that happens on a wire, for the trace; the bytes are not safe to show as they are. */
export type WireEvent =
  | {
      readonly what: "apdu";
      readonly direction: Direction;
      readonly apdu: Uint8Array;
      readonly repeat: number;
    }
  | { readonly what: "ack" | "nak"; readonly direction: Direction }
  | {
      readonly what: "duplicate" | "bad-frame" | "noise" | "fault";
      readonly direction: Direction;
      readonly note: string;
    }
  | { readonly what: "speed"; readonly note: string }
  | { readonly what: "open" | "close" };

/** The bytes that a terminal with ZVT switched off sends (docs/zvt.md 12.7). */
export const ZVT_OFF = Uint8Array.of(0x15, 0x03, 0x69);

/** Seen from the terminal. */
type Direction = "in" | "out";

export type WireListener = (event: WireEvent) => void;

/**
 * Asked by a line before bytes leave. The armed faults answer; without any, nothing is disturbed.
 * A fault that is handed out here counts as used.
 */
export interface Interference {
  /** The other side hears nothing at all from us, not even ACK. */
  readonly mute: boolean;
  /** Asked once for each message: what is sent in its place, the same bytes in every repeat. */
  rewrite(apdu: Uint8Array): Uint8Array;
  /** Asked for each transmission, repeats included. */
  disturb(apdu: Uint8Array): readonly Disturbance[];
  /** Asked for each good frame that came in on a serial line. */
  acknowledge(apdu: Uint8Array): Acknowledgement;
}

export type Acknowledgement =
  | { readonly how: "ack"; readonly delayMs: number }
  | { readonly how: "nak" }
  | { readonly how: "nothing" };

export type Disturbance =
  /** Serial: the checksum is wrong by one bit. */
  | { readonly kind: "bad-crc" }
  /** Only the first half of the bytes leaves. */
  | { readonly kind: "half" }
  /** The bytes leave in pieces with pauses between them. */
  | { readonly kind: "split"; readonly bytes: number; readonly pauseMs: number }
  /** All bytes leave twice. */
  | { readonly kind: "duplicate" }
  | { readonly kind: "noise-before"; readonly noise: Uint8Array }
  /** Foreign bytes in the middle of the message. */
  | { readonly kind: "noise-inside"; readonly noise: Uint8Array }
  | { readonly kind: "delay"; readonly delayMs: number };

/** How one transmission leaves: pieces with the pause before each. */
interface Piece {
  readonly pauseMs: number;
  readonly bytes: Uint8Array;
}

/** Applies to the encoded bytes what {@link Interference.disturb} asked for. */
export function disturbedPieces(
  bytes: Uint8Array,
  disturbances: readonly Disturbance[],
): readonly Piece[] {
  let pieces: Piece[] = [{ pauseMs: 0, bytes }];
  for (const disturbance of disturbances) pieces = disturbPieces(pieces, disturbance);
  return pieces;
}

function disturbPieces(pieces: readonly Piece[], disturbance: Disturbance): Piece[] {
  const whole = join(pieces.map(({ bytes }) => bytes));
  const middle = whole.length >> 1;
  const pauseMs = pieces[0]?.pauseMs ?? 0;
  switch (disturbance.kind) {
    case "bad-crc":
      return [...pieces]; // done where the frame is built
    case "half":
      return [{ pauseMs, bytes: whole.slice(0, middle) }];
    case "split": {
      const count = Math.ceil(whole.length / disturbance.bytes);
      return Array.from({ length: count }, (_, i) => ({
        pauseMs: i === 0 ? pauseMs : disturbance.pauseMs,
        bytes: whole.slice(i * disturbance.bytes, (i + 1) * disturbance.bytes),
      }));
    }
    case "duplicate":
      return [...pieces, ...pieces];
    case "noise-before":
      return [{ pauseMs, bytes: disturbance.noise }, ...pieces];
    case "noise-inside": {
      const [before, after] = [whole.slice(0, middle), whole.slice(middle)];
      return [{ pauseMs, bytes: join([before, disturbance.noise, after]) }];
    }
    case "delay":
      return pieces.map((piece, i) => (i ? piece : { ...piece, pauseMs: disturbance.delayMs }));
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
