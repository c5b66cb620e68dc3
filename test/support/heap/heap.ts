import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes of the heap that are in use after a full collection, buffers outside it included. */
export function heapInUse(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Everything an object literal can be polluted with; tests compare it before and after. */
export function objectPrototype(): readonly PropertyKey[] {
  return [...Reflect.ownKeys(Object.prototype), ...Reflect.ownKeys(Function.prototype)];
}
