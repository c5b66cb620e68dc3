import { encodeFrame } from "../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { fromHex } from "../../../src/zvt/index.ts";
import { isWhole } from "../run/scope.ts";

/** ZVT_FUZZ_RUNS=1000000 for the size that is run at night; ZVT_FUZZ_SEED repeats a run. */
export const FUZZ_RUNS = Number(process.env["ZVT_FUZZ_RUNS"] ?? (isWhole ? 20_000 : 2_000));
export const FUZZ_SEED = Number(process.env["ZVT_FUZZ_SEED"] ?? 1);
export const FUZZ_LIMIT_MS = 3_600_000;

/** All bytes that one input of noise can hold. */
export const INPUT_BYTES_MAX = 400;

/** Reproducible random numbers (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to `below`, excluded. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

/** Good messages as bytes, to be damaged. */
export function messages(...hex: readonly string[]): readonly Uint8Array[] {
  return hex.map((text) => fromHex(text.replaceAll(" ", "")));
}

/** A good message, a malformed one, or noise; half of the time as a frame for the serial line. */
export function fuzzInput(chance: Chance, good: readonly Uint8Array[]): Uint8Array {
  if (chance.below(4) === 0) return chance.bytes(chance.below(INPUT_BYTES_MAX));
  let bytes = Uint8Array.from(chance.pick(good));
  if (chance.below(2) === 0) bytes = mutated(bytes, chance);
  if (chance.below(2) === 0) bytes = Uint8Array.from(encodeFrame(bytes));
  if (chance.below(4) === 0) bytes = mutated(bytes, chance);
  if (chance.below(3) === 0) bytes = Uint8Array.from([0x06, ...bytes]);
  return bytes;
}

function mutated(bytes: Uint8Array<ArrayBuffer>, chance: Chance): Uint8Array<ArrayBuffer> {
  const at = chance.below(bytes.length + 1);
  const cut = bytes.slice(0, at);
  const rest = bytes.slice(at);
  switch (chance.below(5)) {
    case 0:
      return cut;
    case 1:
      return Uint8Array.from([...cut, chance.below(256), ...rest]);
    case 2:
      return Uint8Array.from([...cut, ...rest.slice(1)]);
    case 3:
      return Uint8Array.from([...cut, ...chance.bytes(chance.below(20)), ...rest]);
    default:
      return Uint8Array.from([...cut, (rest[0] ?? 0) ^ (1 << chance.below(8)), ...rest.slice(1)]);
  }
}
