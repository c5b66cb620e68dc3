import { ConcertCodecError } from "../../../../concert/index.ts";

/** The control bytes of the Concert link layer (docs/concert.md 2.2). */
export const control = {
  stx: 0x02,
  etx: 0x03,
  eot: 0x04,
  enq: 0x05,
  ack: 0x06,
  nak: 0x15,
} as const;

const PARITY_BIT = 0x80;
/** The control bytes in which even parity sets bit 7 (docs/concert.md 2.1). */
const withParity: ReadonlySet<number> = new Set(
  [control.stx, control.eot, control.nak].map((byte) => byte | PARITY_BIT),
);

/** Returns whether a byte is a control byte that a wrong parity setting has changed. */
export function showsParity(byte: number): boolean {
  return withParity.has(byte);
}

/** Tab and line ends: the only control bytes that a body may hold (docs/concert.md 2.3). */
const lineEnds: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d]);
const PRINTABLE_FIRST = 0x20;

function mayStandInBody(byte: number): boolean {
  return byte >= PRINTABLE_FIRST || lineEnds.has(byte);
}

/** Returns the check byte of a frame: XOR of the body and ETX (docs/concert.md 2.3). */
function checkByte(body: Uint8Array): number {
  return body.reduce((sum, byte) => sum ^ byte, control.etx);
}

export function encodeFrame(body: Uint8Array): Uint8Array {
  if (!body.every(mayStandInBody)) {
    throw new ConcertCodecError("value", "a control byte stands in the body");
  }
  return Uint8Array.of(control.stx, ...body, control.etx, checkByte(body));
}

/** The state of a frame that is read byte by byte, from the byte after STX on. */
export interface FrameRead {
  readonly body: Uint8Array;
  readonly sawEtx: boolean;
  /** How the frame ended; null while more bytes are to come. */
  readonly end: "whole" | "lrc" | "no-etx" | "length" | null;
}

export const frameStart: FrameRead = { body: new Uint8Array(0), sawEtx: false, end: null };
/** The longest body that is read, far more than a reply with a receipt; longer input is noise. */
const BODY_BYTES_MAX = 4_096;

export function readFrameByte(read: FrameRead, byte: number): FrameRead {
  const { body, sawEtx } = read;
  if (sawEtx) return { ...read, end: checkByte(body) === byte ? "whole" : "lrc" };
  if (byte === control.etx) return { ...read, sawEtx: true };
  if (!mayStandInBody(byte)) return { ...read, end: "no-etx" };
  if (body.length === BODY_BYTES_MAX) return { ...read, end: "length" };
  const longer = new Uint8Array(body.length + 1);
  longer.set(body);
  longer[body.length] = byte;
  return { ...read, body: longer };
}
