/** A picture of 64 by 16 points with one wave for a signature, as a two-colour BMP. */
const WIDTH = 64;
const HEIGHT = 16;
const HEAD_BYTES = 62;
const ROW_BYTES = WIDTH / 8;
const PIXELS_PER_METRE = 3_780;

export const signatureImage: Uint8Array = picture();

function picture(): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + ROW_BYTES * HEIGHT);
  const view = new DataView(bytes.buffer);
  bytes.set([0x42, 0x4d]);
  const head: readonly (readonly [number, number])[] = [
    [2, bytes.length],
    [10, HEAD_BYTES],
    [14, 40],
    [18, WIDTH],
    [22, HEIGHT],
    [34, ROW_BYTES * HEIGHT],
    [38, PIXELS_PER_METRE],
    [42, PIXELS_PER_METRE],
    [58, 0x00ffffff],
  ];
  for (const [at, value] of head) view.setUint32(at, value, true);
  view.setUint16(26, 1, true);
  view.setUint16(28, 1, true);
  bytes.fill(0xff, HEAD_BYTES);
  for (let x = 2; x < WIDTH - 2; x++) {
    const y = Math.round((HEIGHT - 1) / 2 + Math.sin(x / 5) * 6);
    const at = HEAD_BYTES + y * ROW_BYTES + (x >> 3);
    bytes[at] = (bytes[at] as number) & ~(0x80 >> (x & 7));
  }
  return bytes;
}
