/** A fault of bytes on their way out of the terminal, whatever protocol they are of. */
export type Disturbance =
  /** The check of a frame is wrong by one bit. */
  | { readonly kind: "bad-check" }
  /** Only the first half of the bytes leaves. */
  | { readonly kind: "half" }
  /** The bytes leave in pieces with pauses between them. */
  | { readonly kind: "split"; readonly bytes: number; readonly pauseMs: number }
  /** All bytes leave twice. */
  | { readonly kind: "duplicate" }
  | { readonly kind: "noise-before"; readonly noise: Uint8Array }
  /** Foreign bytes in the middle of the message. */
  | { readonly kind: "noise-inside"; readonly noise: Uint8Array }
  | { readonly kind: "delay"; readonly delayMs: number };

/** How one transmission leaves: pieces with the pause before each. */
interface Piece {
  readonly pauseMs: number;
  readonly bytes: Uint8Array;
}

/** The bytes as they leave, with everything that disturbs them. */
export function disturbedPieces(
  bytes: Uint8Array,
  disturbances: readonly Disturbance[],
): readonly Piece[] {
  let pieces: Piece[] = [{ pauseMs: 0, bytes }];
  for (const disturbance of disturbances) pieces = disturbPieces(pieces, disturbance);
  return pieces;
}

function disturbPieces(pieces: readonly Piece[], disturbance: Disturbance): Piece[] {
  const whole = join(pieces.map(({ bytes }) => bytes));
  const middle = whole.length >> 1;
  const pauseMs = pieces[0]?.pauseMs ?? 0;
  switch (disturbance.kind) {
    case "bad-check":
      return [...pieces]; // done where the frame is built
    case "half":
      return [{ pauseMs, bytes: whole.slice(0, middle) }];
    case "split": {
      const count = Math.ceil(whole.length / disturbance.bytes);
      return Array.from({ length: count }, (_, i) => ({
        pauseMs: i === 0 ? pauseMs : disturbance.pauseMs,
        bytes: whole.slice(i * disturbance.bytes, (i + 1) * disturbance.bytes),
      }));
    }
    case "duplicate":
      return [...pieces, ...pieces];
    case "noise-before":
      return [{ pauseMs, bytes: disturbance.noise }, ...pieces];
    case "noise-inside": {
      const [before, after] = [whole.slice(0, middle), whole.slice(middle)];
      return [{ pauseMs, bytes: join([before, disturbance.noise, after]) }];
    }
    case "delay":
      return pieces.map((piece, i) => (i ? piece : { ...piece, pauseMs: disturbance.delayMs }));
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
