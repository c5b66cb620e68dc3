/** Percent of what is alive, or 8 MB where that is more. */
const HEAP_GROWTH_PERCENT = 20;

/**
 * The settings of V8 that keep the memory of a program at work small (docs/performance.md). Left to
 * itself the heap may grow to three times what is alive before it is collected: the more, the
 * busier the kiosk. Functions that run once for each payment are all compiled after the same one:
 * one compilation follows the other then, and is forgotten when it is done.
 */
const switches = [
  `--heap-growing-percent=${HEAP_GROWTH_PERCENT}`,
  "--concurrent-maglev-max-threads=1",
  "--no-maglev-destroy-on-background",
];

/**
 * Sets them once a program is ready: Node's own compiled modules are for a process without such
 * switches, so they would cost a third of a start on the command line. A runtime that does not know
 * one says so on its standard error, and runs on.
 */
export function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const one of switches) setFlagsFromString(one);
}
