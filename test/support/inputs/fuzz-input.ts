import { encodeFrame } from "../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { fromHex } from "../../../src/zvt/index.ts";
import { isWhole } from "../run/scope.ts";
import type { Random } from "./random.ts";

/** ZVT_FUZZ_RUNS=1000000 for the size that is run at night; ZVT_FUZZ_SEED repeats a run. */
export const FUZZ_RUNS = Number(process.env["ZVT_FUZZ_RUNS"] ?? (isWhole ? 20_000 : 2_000));
export const FUZZ_SEED = Number(process.env["ZVT_FUZZ_SEED"] ?? 1);
export const FUZZ_LIMIT_MS = 3_600_000;

/** All bytes that one input of noise can hold. */
export const INPUT_BYTES_MAX = 400;

/** Good messages as bytes, to be damaged. */
export function messages(...hex: readonly string[]): readonly Uint8Array[] {
  return hex.map((text) => fromHex(text.replaceAll(" ", "")));
}

/** A good message, a malformed one, or noise; half of the time as a frame for the serial line. */
export function fuzzInput(random: Random, good: readonly Uint8Array[]): Uint8Array {
  if (random.below(4) === 0) return random.bytes(random.below(INPUT_BYTES_MAX));
  let bytes = Uint8Array.from(random.pick(good));
  if (random.below(2) === 0) bytes = mutated(bytes, random);
  if (random.below(2) === 0) bytes = Uint8Array.from(encodeFrame(bytes));
  if (random.below(4) === 0) bytes = mutated(bytes, random);
  if (random.below(3) === 0) bytes = Uint8Array.from([0x06, ...bytes]);
  return bytes;
}

function mutated(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  const at = random.below(bytes.length + 1);
  const cut = bytes.slice(0, at);
  const rest = bytes.slice(at);
  switch (random.below(5)) {
    case 0:
      return cut;
    case 1:
      return Uint8Array.from([...cut, random.below(256), ...rest]);
    case 2:
      return Uint8Array.from([...cut, ...rest.slice(1)]);
    case 3:
      return Uint8Array.from([...cut, ...random.bytes(random.below(20)), ...rest]);
    default:
      return Uint8Array.from([...cut, (rest[0] ?? 0) ^ (1 << random.below(8)), ...rest.slice(1)]);
  }
}
