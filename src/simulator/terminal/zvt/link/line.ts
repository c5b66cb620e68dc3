import type { Disturbance } from "../../port/disturbance.ts";

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
