/*
 * This is the only file that reads the real time and random numbers; `test/tidy` forbids the
 * platform's calls elsewhere. All other code receives a {@link Clock}, which tests replace.
 */

/** A timer that has not fired; its name says what the process waits for. */
export interface Timer {
  readonly name: string;
  clear(): void;
}

export interface Clock {
  /** Returns milliseconds since 1970 UTC, which may jump: for timestamps, not for durations. */
  now(): number;
  /** Returns milliseconds of a clock that is never set back, for durations and deadlines. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs`, which is limited to the range from 0 to 2^31 - 1. */
  startTimer(name: string, delayMs: number, fire: () => void): Timer;
}

const TIMER_DELAY_MAX_MS = 2 ** 31 - 1;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  startTimer(name, delayMs, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(delayMs, 0), TIMER_DELAY_MAX_MS));
    return { name, clear: () => clearTimeout(handle) };
  },
};

/** Waits `delayMs`. Rejects with `signal.reason` as soon as the signal aborts. */
export async function sleep(
  clock: Clock,
  name: string,
  delayMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = clock.startTimer(name, delayMs, resolve);
  try {
    await (signal ? unlessAborted(over, signal) : over);
  } finally {
    timer.clear();
  }
}

/** Settles as `promise` does, or resolves with undefined after `delayMs`; the work goes on. */
export async function within<T>(
  clock: Clock,
  name: string,
  delayMs: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  const timeout = Promise.withResolvers<undefined>();
  const timer = clock.startTimer(name, delayMs, () => timeout.resolve(undefined));
  try {
    return await Promise.race([promise, timeout.promise]);
  } finally {
    timer.clear();
  }
}

/** Calls `ask` every `everyMs` until it returns a value; returns undefined after `withinMs`. */
export async function poll<T>(
  clock: Clock,
  name: string,
  everyMs: number,
  withinMs: number,
  ask: () => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> {
  const endMs = clock.monotonicMs() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (clock.monotonicMs() >= endMs) return undefined;
    await sleep(clock, name, everyMs);
  }
}

/** Settles as `work` does, or rejects with `signal.reason`; the work itself goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  return promise;
}

/** Returns a random number from 0 to 1 (excluded), for jitter only and never for a secret. */
export function random(): number {
  return Math.random();
}

/** Returns a time as ISO 8601 text in UTC, the form in all answers, events and files. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Returns the members `endsAt` and `secondsLeft`; null in both: nothing ends by itself. */
export function timeLeft(endsAtMs: number | undefined, nowMs: number) {
  if (endsAtMs === undefined) return { endsAt: null, secondsLeft: null };
  const secondsLeft = Math.ceil(Math.max(0, endsAtMs - nowMs) / 1000);
  return { endsAt: isoTime(endsAtMs), secondsLeft };
}

let zone: string | undefined;

/** Returns the machine's time zone, which is read once because that takes time and memory. */
export function localTimeZone(): string {
  zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone;
}
