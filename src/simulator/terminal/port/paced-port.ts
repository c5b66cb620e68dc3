import { type Clock, sleep } from "../../../shared/time.ts";
import type { BytePort, BytePortHandlers } from "./byte-port.ts";

/** Start bit, eight data bits, one stop bit; what serial lines usually take for one byte. */
const BITS_PER_BYTE = 10;

/** Bytes that go out together, so that the timer's resolution does not matter. */
const PIECE_MS = 10;

/** Slows a port down to the speed of a real line, in both directions. */
export class PacedPort implements BytePort {
  readonly name: string;
  readonly #port: BytePort;
  readonly #clock: Clock;
  #bytesPerMs = 0;
  #pieceBytes = 0;
  #out: Promise<void> = Promise.resolve();
  #in: Promise<void> = Promise.resolve();

  constructor(port: BytePort, bitsPerSecond: number, clock: Clock) {
    this.name = port.name;
    this.#port = port;
    this.#clock = clock;
    this.setSpeed(bitsPerSecond);
  }

  /** Holds from the next bytes on; what is on its way keeps its speed. */
  setSpeed(bitsPerSecond: number): void {
    this.#bytesPerMs = bitsPerSecond / BITS_PER_BYTE / 1_000;
    this.#pieceBytes = Math.max(1, Math.floor(this.#bytesPerMs * PIECE_MS));
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#port.start({
      data: (bytes) => {
        this.#in = this.#in.then(() => this.#pass(bytes, data));
      },
      closed,
    });
  }

  write(bytes: Uint8Array): void {
    this.#out = this.#out.then(() => this.#pass(bytes, (piece) => this.#port.write(piece)));
  }

  close(): void {
    this.#port.close();
  }

  async #pass(bytes: Uint8Array, to: (piece: Uint8Array) => void): Promise<void> {
    const startMs = this.#clock.monotonicMs();
    const [bytesPerMs, pieceBytes] = [this.#bytesPerMs, this.#pieceBytes];
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = bytes.subarray(at, at + pieceBytes);
      // Each piece is there when its last bit is; measured from the start, so that delays of the
      // timer do not add up.
      const dueMs = startMs + (at + piece.length) / bytesPerMs;
      await sleep(this.#clock, "line speed", dueMs - this.#clock.monotonicMs());
      to(piece);
    }
  }
}
