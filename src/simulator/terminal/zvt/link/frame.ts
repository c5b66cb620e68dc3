import { crcKermit } from "./crc.ts";

/** Bytes of the serial transport (docs/zvt.md 2.2, 2.4). */
export const STX = 0x02;
export const ETX = 0x03;
export const ACK = 0x06;
export const DLE = 0x10;
export const NAK = 0x15;

/** Covered by the checksum: the message before doubling, then ETX (docs/zvt.md 2.3). */
export function frameCrc(apdu: Uint8Array): number {
  return crcKermit(Uint8Array.of(ETX), crcKermit(apdu));
}

/** 10 02, message with every 10 doubled, 10 03, checksum low byte first and never doubled. */
export function encodeFrame(apdu: Uint8Array, crc = frameCrc(apdu)): Uint8Array {
  const bytes = [DLE, STX];
  for (const byte of apdu) {
    bytes.push(byte);
    if (byte === DLE) bytes.push(DLE);
  }
  bytes.push(DLE, ETX, crc & 0xff, crc >>> 8);
  return Uint8Array.from(bytes);
}
