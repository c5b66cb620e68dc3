import { ConcertCodecError, type ConcertFaultCode } from "../errors.ts";

/** docs/concert.md 2.2. */
const control = {
  stx: 0x02,
  etx: 0x03,
  eot: 0x04,
  enq: 0x05,
  ack: 0x06,
  nak: 0x15,
} as const;

const PARITY_BIT = 0x80;
/** Control bytes with an odd number of ones carry the bit of even parity (docs/concert.md 2.1). */
const withParity: ReadonlySet<number> = new Set(
  [control.stx, control.eot, control.nak].map((byte) => byte | PARITY_BIT),
);

/** Whether a byte is a control byte as a reader with another parity setting sees it. */
function showsParity(byte: number): boolean {
  return withParity.has(byte);
}

/** The bytes of a ticket's lines; every other byte below 20 ends a frame (docs/concert.md 2.3). */
const lineEnds: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d]);
const PRINTABLE_FIRST = 0x20;

function mayStandInBody(byte: number): boolean {
  return byte >= PRINTABLE_FIRST || lineEnds.has(byte);
}

/** XOR of the body and ETX (docs/concert.md 2.3). */
function checkByte(body: Uint8Array): number {
  return body.reduce((sum, byte) => sum ^ byte, control.etx);
}

/** STX, the body, ETX and the check byte. */
export function encodeFrame(body: Uint8Array): Uint8Array {
  if (!body.every(mayStandInBody)) {
    throw new ConcertCodecError("value", "a control byte stands in the body");
  }
  return Uint8Array.of(control.stx, ...body, control.etx, checkByte(body));
}

/** The body of exactly one frame. Throws {@link ConcertCodecError}. */
export function decodeFrame(bytes: Uint8Array): Uint8Array {
  const [first] = bytes;
  if (first !== undefined && showsParity(first)) throw fault("parity");
  if (first !== control.stx) throw fault(first === undefined ? "truncated" : "no-stx");
  const end = bytes.findIndex((byte, i) => i > 0 && !mayStandInBody(byte));
  if (end === -1) throw fault("truncated");
  if (bytes[end] !== control.etx) throw fault("no-etx");
  if (bytes.length < end + 2) throw fault("truncated");
  if (bytes.length > end + 2) throw fault("length");
  const body = bytes.subarray(1, end);
  if (checkByte(body) !== bytes[end + 1]) throw fault("lrc");
  return body;
}

const words: Partial<Record<ConcertFaultCode, string>> = {
  parity: "the control bytes carry a parity bit: wrong parity setting",
  "no-stx": "the frame does not begin with STX",
  "no-etx": "a control byte stands where ETX belongs",
  truncated: "the frame is cut",
  length: "bytes follow the check byte",
  lrc: "the check byte is wrong",
};

function fault(code: ConcertFaultCode): ConcertCodecError {
  return new ConcertCodecError(code, words[code] ?? code);
}
