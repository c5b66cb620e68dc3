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

/**
 * CRC-16/KERMIT (docs/zvt.md 2.3): polynomial 1021 bit-reflected (8408), start value 0, no final
 * exclusive-or. The simulator's own, so that a mistake in the driver's cannot cancel itself out.
 */
export function crcKermit(bytes: Uint8Array, start = 0): number {
  let crc = start;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x8408 : crc >>> 1;
  }
  return crc;
}
