/** How far the heap may grow before a garbage collection, in percent of its live objects. */
const HEAP_GROWTH_PERCENT = 20;

/**
 * The V8 switches that keep the memory of a working program small (docs/performance.md). Without
 * them the heap may grow to three times its live objects, and V8 compiles all functions of a
 * payment at the same time. With one thread it compiles them one after the other, and frees the
 * memory of each compilation before the next.
 */
const switches = [
  `--heap-growing-percent=${HEAP_GROWTH_PERCENT}`,
  "--concurrent-maglev-max-threads=1",
  "--no-maglev-destroy-on-background",
];

/**
 * Sets the switches after a program is ready. On the command line they would make its start a third
 * slower, because Node's precompiled modules are for a process without switches. A runtime that
 * does not know a switch only reports that on standard error.
 */
export function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const one of switches) setFlagsFromString(one);
}
