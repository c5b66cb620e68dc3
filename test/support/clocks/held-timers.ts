/**
 * Switches of Node.js for a program in which no timer longer than `ms` ever fires. What happens all
 * the same was done by an event or a shorter timer, however long a busy machine takes.
 */
export function timersUpTo(ms: number): string[] {
  const hook = `
    const { setTimeout: start } = globalThis;
    globalThis.setTimeout = (happen, delayMs = 0) =>
      delayMs > ${ms} ? start(() => {}, 2 ** 31 - 1) : start(happen, delayMs);`;
  return ["--import", `data:text/javascript,${encodeURIComponent(hook)}`];
}
