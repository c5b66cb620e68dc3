import * as port from "../../port/register-line.ts";

interface LineHandlers {
  apdu(apdu: Uint8Array): void;
  /** Called exactly once. */
  closed(): void;
}

export interface Interference extends port.Interference {
  /** Asked for each good frame that came in on a serial line. */
  acknowledge(apdu: Uint8Array): Acknowledgement;
}

export type Acknowledgement =
  | { readonly how: "ack"; readonly delayMs: number }
  | { readonly how: "nak" }
  | { readonly how: "nothing" };

export interface LineOptions extends port.LineOptions {
  readonly interference: Interference;
  /** Another protocol was switched on by 08 02 (docs/zvt.md 6.4): ZVT is not understood. */
  readonly zvtOff?: () => boolean;
}

/** The bytes that a terminal with ZVT switched off sends (docs/zvt.md 12.7). */
const ZVT_OFF = Uint8Array.of(0x15, 0x03, 0x69);

/**
 * A line of ZVT. Two kinds: `serial-line.ts` (frames, checksum, ACK and NAK, repeats) and
 * `tcp-line.ts` (bare messages). The code above a line knows neither.
 */
export abstract class Line<O extends LineOptions = LineOptions> extends port.RegisterLine<
  O,
  LineHandlers
> {
  protected readonly what = "apdu";

  /**
   * Sends one message, after those before it. "sent": acknowledged by the other side's transport
   * (serial), handed to the network (TCP). "failed": repeats used up, or the line is gone.
   */
  abstract send(apdu: Uint8Array): Promise<"sent" | "failed">;

  /** Serial: from now on at this speed, bits per second. TCP has no speed. */
  changeSpeed(_bitsPerSecond: number): void {}

  /** Says, in bytes that are no ZVT, that ZVT is off (docs/zvt.md 12.7). */
  refuseProtocol(): void {
    this.options.onWire({ what: "noise", direction: "in", note: "ZVT is off" });
    this.port.write(ZVT_OFF);
  }

  protected override received(bytes: Uint8Array): void {
    if (this.options.zvtOff?.()) this.refuseProtocol();
    else this.read(bytes);
  }

  protected abstract read(bytes: Uint8Array): void;
}
