import { concat } from "../../../../zvt/index.ts";

const STX = 0x02;
const ETX = 0x03;
export const ACK = 0x06;
const DLE = 0x10;
export const NAK = 0x15;

/** The longest APDU in a frame; further bytes count as noise. */
const FRAME_BYTES_MAX = 65_540;

/** Returns a message in its frame: 10 02, the message, 10 03 and the checksum (docs/zvt.md 2.2). */
export function encodeFrame(apdu: Uint8Array): Uint8Array {
  const doubled = new Uint8Array(apdu.length + apdu.filter((byte) => byte === DLE).length);
  let at = 0;
  for (const byte of apdu) {
    doubled[at++] = byte;
    if (byte === DLE) doubled[at++] = DLE;
  }
  // The checksum covers the message before 10s are doubled, and 03 (docs/zvt.md 2.3).
  const crc = crc16([ETX], crc16(apdu));
  return concat([Uint8Array.of(DLE, STX), doubled, Uint8Array.of(DLE, ETX, crc & 0xff, crc >> 8)]);
}

export type FrameEvent =
  | { readonly event: "ack" }
  | { readonly event: "nak" }
  | { readonly event: "frame"; readonly apdu: Uint8Array }
  /** A frame with a fault, to be answered by NAK. */
  | { readonly event: "bad-frame" }
  | { readonly event: "noise"; readonly bytes: number };

type Phase =
  /** Between frames, where alone 06 and 15 mean ACK and NAK (docs/zvt.md 2.4). */
  | "hunting"
  /** Between frames, after a byte 10. */
  | "hunting-dle"
  | "data"
  | "data-dle"
  | "crc-low"
  | "crc-high";

/** Finds frames, ACKs and NAKs in received bytes, by the automaton of docs/zvt.md 2.2. */
export class FrameReader {
  #phase: Phase = "hunting";
  #apdu: number[] = [];
  #crcLow = 0;
  /** Whether the frame being read is certainly wrong. */
  #isBroken = false;
  #noiseBytes = 0;

  /** Whether a frame is being read: no pause in it may be longer than T1. */
  get inFrame(): boolean {
    return this.#phase !== "hunting" && this.#phase !== "hunting-dle";
  }

  push(bytes: Uint8Array): FrameEvent[] {
    const events: FrameEvent[] = [];
    for (const byte of bytes) {
      const event = this.#byte(byte);
      if (!event) continue;
      this.#flushNoise(events);
      events.push(event);
    }
    this.#flushNoise(events);
    return events;
  }

  /** Gives up the frame being read, because T1 is over. */
  timeout(): FrameEvent[] {
    if (!this.inFrame) return [];
    this.#begin("hunting");
    return [{ event: "bad-frame" }];
  }

  #flushNoise(events: FrameEvent[]): void {
    if (this.#noiseBytes > 0) events.push({ event: "noise", bytes: this.#noiseBytes });
    this.#noiseBytes = 0;
  }

  #byte(byte: number): FrameEvent | undefined {
    switch (this.#phase) {
      case "hunting":
        return this.#outside(byte);
      case "hunting-dle":
        if (byte === STX) this.#begin("data");
        else if (byte === DLE) this.#noiseBytes += 1;
        else {
          this.#noiseBytes += 1;
          this.#phase = "hunting";
          return this.#outside(byte);
        }
        return undefined;
      case "data":
        if (byte === DLE) this.#phase = "data-dle";
        else this.#keep(byte);
        return undefined;
      case "data-dle":
        this.#afterDle(byte);
        return undefined;
      case "crc-low":
        this.#crcLow = byte;
        this.#phase = "crc-high";
        return undefined;
      case "crc-high":
        return this.#complete(this.#crcLow + 256 * byte);
    }
  }

  #outside(byte: number): FrameEvent | undefined {
    if (byte === ACK) return { event: "ack" };
    if (byte === NAK) return { event: "nak" };
    if (byte === DLE) this.#phase = "hunting-dle";
    else this.#noiseBytes += 1;
    return undefined;
  }

  #afterDle(byte: number): void {
    if (byte === DLE) {
      this.#keep(byte);
      this.#phase = "data";
    } else if (byte === ETX) {
      this.#phase = "crc-low";
    } else if (byte === STX) {
      // A frame start inside a frame: the end of the former was lost (docs/zvt.md 2.2).
      this.#noiseBytes += this.#apdu.length + 2;
      this.#begin("data");
    } else {
      // The rest of the broken frame is read, so that none of its bytes passes for an ACK.
      this.#isBroken = true;
      this.#phase = "data";
    }
  }

  #keep(byte: number): void {
    if (this.#apdu.length >= FRAME_BYTES_MAX) this.#isBroken = true;
    if (!this.#isBroken) this.#apdu.push(byte);
  }

  #complete(crc: number): FrameEvent {
    const apdu = Uint8Array.from(this.#apdu);
    const isGood = !this.#isBroken && crc16([ETX], crc16(apdu)) === crc;
    this.#begin("hunting");
    return isGood ? { event: "frame", apdu } : { event: "bad-frame" };
  }

  #begin(phase: "hunting" | "data"): void {
    this.#phase = phase;
    this.#apdu = [];
    this.#isBroken = false;
  }
}

/** CRC-16/KERMIT (docs/zvt.md 2.3): polynomial 1021 reflected, initial value 0, no final XOR. */
const REFLECTED_POLYNOMIAL = 0x8408;

const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) {
    crc = crc & 1 ? (crc >> 1) ^ REFLECTED_POLYNOMIAL : crc >> 1;
  }
  return crc;
});

export function crc16(bytes: Iterable<number>, start = 0): number {
  let crc = start;
  for (const byte of bytes) crc = (crc >> 8) ^ (table[(crc ^ byte) & 0xff] as number);
  return crc;
}
