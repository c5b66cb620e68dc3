/**
 * Loaded into a program with `--import`: each SIGUSR2 puts its clocks a minute ahead, and what was
 * due within that minute happens at once, as on a machine that has slept.
 */
const JUMP_MS = 60_000;

interface Due {
  readonly atMs: number;
  readonly fire: () => void;
}

const wallClock = Date.now;
const monotonic = performance.now.bind(performance);
const { setTimeout: start, clearTimeout: clear } = globalThis;
const pending = new Map<NodeJS.Timeout, Due>();
let aheadMs = 0;

Date.now = () => wallClock() + aheadMs;
performance.now = () => monotonic() + aheadMs;
globalThis.setTimeout = ((happen: () => void, delayMs = 0) => {
  const fire = (): void => {
    globalThis.clearTimeout(handle);
    happen();
  };
  const handle = start(fire, delayMs);
  pending.set(handle, { atMs: performance.now() + delayMs, fire });
  return handle;
}) as typeof setTimeout;
globalThis.clearTimeout = (handle) => {
  pending.delete(handle as NodeJS.Timeout);
  clear(handle);
};

process.on("SIGUSR2", () => {
  aheadMs += JUMP_MS;
  const now = performance.now();
  const due = [...pending].sort(([, one], [, other]) => one.atMs - other.atMs);
  for (const [handle, { atMs, fire }] of due) if (atMs <= now && pending.has(handle)) fire();
});
