/** How far the heap may grow before a collection, in percent of the live objects, or 8 MB. */
const HEAP_GROWTH_PERCENT = 20;

/**
 * The settings of V8 that keep the memory of a working program small (docs/performance.md). By
 * default the heap may grow to three times the live objects before it is collected. Functions that
 * run once for each payment are all due for compilation after the same payment; with one thread
 * they are compiled one after the other, and the memory of each compilation is freed.
 */
const switches = [
  `--heap-growing-percent=${HEAP_GROWTH_PERCENT}`,
  "--concurrent-maglev-max-threads=1",
  "--no-maglev-destroy-on-background",
];

/**
 * Sets the switches once a program is ready. On the command line they would make a start a third
 * slower, because Node's own compiled modules are for a process without them. A runtime that does
 * not know a switch reports that on its standard error and goes on.
 */
export function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const one of switches) setFlagsFromString(one);
}
