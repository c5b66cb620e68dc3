import { type Clock, sleep } from "../../shared/time.ts";

/** The first value that `ask` answers, asked every `everyMs`; undefined: none in `withinMs`. */
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
