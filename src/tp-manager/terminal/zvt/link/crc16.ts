/**
 * docs/zvt.md 2.3: CRC-16/KERMIT. Polynomial 1021 bit-reflected, initial value 0, no final
 * exclusive-or.
 */
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
