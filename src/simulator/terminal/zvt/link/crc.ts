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
