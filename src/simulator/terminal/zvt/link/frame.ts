/** The control bytes of the serial transport (docs/zvt.md 2.2, 2.4). */
const STX = 0x02;
const ETX = 0x03;
export const ACK = 0x06;
const DLE = 0x10;
export const NAK = 0x15;

/** Returns the checksum over the message, before any 10 is doubled, and ETX (docs/zvt.md 2.3). */
export function frameCrc(apdu: Uint8Array): number {
  return crcKermit(Uint8Array.of(ETX), crcKermit(apdu));
}

/** Returns a frame: 10 02, the message with each 10 doubled, 10 03, checksum (low byte first). */
export function encodeFrame(apdu: Uint8Array, crc = frameCrc(apdu)): Uint8Array {
  const bytes = [DLE, STX];
  for (const byte of apdu) {
    bytes.push(byte);
    if (byte === DLE) bytes.push(DLE);
  }
  bytes.push(DLE, ETX, crc & 0xff, crc >>> 8);
  return Uint8Array.from(bytes);
}

/**
 * CRC-16/KERMIT (docs/zvt.md 2.3): polynomial 1021 bit-reflected (8408), start value 0, no final
 * exclusive-or. The simulator has code of its own, so that a mistake of the driver's code shows.
 */
export function crcKermit(bytes: Uint8Array, start = 0): number {
  let crc = start;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x8408 : crc >>> 1;
  }
  return crc;
}

export type LineEvent =
  | { readonly kind: "ack" }
  | { readonly kind: "nak" }
  /** A frame with the right checksum; the frame's content is not checked yet. */
  | { readonly kind: "frame"; readonly apdu: Uint8Array }
  /** A damaged frame, which is answered with NAK. */
  | { readonly kind: "bad-frame"; readonly reason: BadFrameReason }
  /** Bytes between two frames that have no meaning. */
  | { readonly kind: "noise"; readonly count: number };

type BadFrameReason = "crc" | "escape" | "too-long" | "cut";

/** The longest message: 2 control bytes, 3 length bytes, 65535 bytes of data (docs/zvt.md 4.1). */
const APDU_BYTES_MAX = 2 + 3 + 0xffff;

/** The part of a frame that the next byte belongs to; `broken`: skipped until a frame begins. */
type State = "hunt" | "data" | "check" | "broken";

/**
 * Turns the bytes of a serial line into events, however the bytes are cut (docs/zvt.md 2.2). The
 * caller measures T1 and calls {@link FrameReader.silence} when T1 is over.
 */
export class FrameReader {
  #state: State = "hunt";
  /** Whether the last byte was a 10 (DLE): the next byte decides what this 10 means. */
  #escaped = false;
  #data: number[] = [];
  #crcLow: number | undefined;
  #noise = 0;
  #brokenBy: BadFrameReason = "escape";
  readonly #events: LineEvent[] = [];

  /** Whether a frame has begun and not ended; during a frame T1 runs. */
  get isInside(): boolean {
    return this.#state !== "hunt" || this.#escaped;
  }

  push(chunk: Uint8Array): LineEvent[] {
    for (const byte of chunk) this.#next(byte);
    this.#flushNoise();
    return this.#events.splice(0);
  }

  /** Ends an unfinished frame when T1 is over (docs/zvt.md 2.4); a single 10 counts as noise. */
  silence(): LineEvent[] {
    if (this.#state !== "hunt") this.#bad(this.#state === "broken" ? this.#brokenBy : "cut");
    else if (this.#escaped) this.#noise += 1;
    this.#escaped = false;
    this.#state = "hunt";
    this.#flushNoise();
    return this.#events.splice(0);
  }

  #next(byte: number): void {
    const escaped = this.#escaped;
    this.#escaped = false;
    switch (this.#state) {
      case "hunt":
        if (escaped && byte === STX) this.#begin();
        else this.#hunt(byte, escaped);
        break;
      case "data":
        if (escaped) this.#afterDle(byte);
        else if (byte === DLE) this.#escaped = true;
        else this.#keep(byte);
        break;
      case "check":
        // Bytes of the checksum are never doubled, not even 10 02 or 10 10 (docs/zvt.md 2.2).
        if (this.#crcLow === undefined) this.#crcLow = byte;
        else this.#end(this.#crcLow, byte);
        break;
      case "broken":
        if (escaped && byte === STX) this.#begin();
        else this.#escaped = byte === DLE;
        break;
    }
  }

  #hunt(byte: number, afterLoneDle: boolean): void {
    if (afterLoneDle) this.#noise += 1;
    if (byte === DLE) this.#escaped = true;
    else if (byte !== ACK && byte !== NAK) this.#noise += 1;
    else {
      this.#flushNoise();
      this.#events.push({ kind: byte === ACK ? "ack" : "nak" });
    }
  }

  #begin(): void {
    this.#flushNoise();
    this.#data = [];
    this.#state = "data";
  }

  #keep(byte: number): void {
    if (this.#data.length === APDU_BYTES_MAX) this.#break("too-long");
    else this.#data.push(byte);
  }

  #afterDle(byte: number): void {
    if (byte === DLE) this.#keep(DLE);
    else if (byte === ETX) {
      this.#crcLow = undefined;
      this.#state = "check";
    }
    // The start of a frame inside a frame means that the sender begins it again (docs/zvt.md 2.2).
    else if (byte === STX) this.#begin();
    else this.#break("escape");
  }

  #break(reason: BadFrameReason): void {
    this.#brokenBy = reason;
    this.#data = [];
    this.#state = "broken";
  }

  #end(crcLow: number, crcHigh: number): void {
    const apdu = Uint8Array.from(this.#data);
    this.#state = "hunt";
    if (frameCrc(apdu) !== (crcHigh << 8) + crcLow) this.#bad("crc");
    else this.#events.push({ kind: "frame", apdu });
  }

  #bad(reason: BadFrameReason): void {
    this.#data = [];
    this.#events.push({ kind: "bad-frame", reason });
  }

  #flushNoise(): void {
    if (this.#noise > 0) this.#events.push({ kind: "noise", count: this.#noise });
    this.#noise = 0;
  }
}
