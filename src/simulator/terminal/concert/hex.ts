/** The Latin-1 text behind the hexadecimal argument of a fault. */
export function fromHexText(hex: unknown): string {
  return Buffer.from(String(hex), "hex").toString("latin1");
}
