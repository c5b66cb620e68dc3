import { ConcertCodecError, type ConcertFaultCode } from "../../src/concert/index.ts";
import {
  control,
  frameStart,
  readFrameByte,
  showsParity,
} from "../../src/tp-manager/terminal/concert/link/frame.ts";

/** The body of exactly one frame. Throws {@link ConcertCodecError}. */
export function decodeFrame(bytes: Uint8Array): Uint8Array {
  const [first] = bytes;
  if (first !== undefined && showsParity(first)) throw fault("parity");
  if (first !== control.stx) throw fault(first === undefined ? "truncated" : "no-stx");
  let read = frameStart;
  for (const [at, byte] of bytes.entries()) {
    if (at > 0) read = readFrameByte(read, byte);
    if (read.end === null) continue;
    if (read.end !== "whole") throw fault(read.end);
    if (at < bytes.length - 1) throw fault("length");
  }
  if (read.end === null) throw fault("truncated");
  return read.body;
}

const faultTexts: Partial<Record<ConcertFaultCode, string>> = {
  parity: "the control bytes carry a parity bit: wrong parity setting",
  "no-stx": "the frame does not begin with STX",
  "no-etx": "a control byte stands where ETX belongs",
  truncated: "the frame is cut",
  length: "the frame is too long",
  lrc: "the check byte is wrong",
};

function fault(code: ConcertFaultCode): ConcertCodecError {
  return new ConcertCodecError(code, faultTexts[code] ?? code);
}
