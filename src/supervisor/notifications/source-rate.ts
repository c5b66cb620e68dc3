import type { Clock } from "../../shared/time.ts";

/** More than a gateway sends about one kiosk; after a 503 the gateway sends again. */
export const MESSAGES_PER_MINUTE_MAX = 600;
/** Sources that have a bucket of their own; all others share one. */
const SOURCES_MAX = 256;
const OTHERS = "others";

interface Bucket {
  left: number;
  lastMs: number;
}

/**
 * How many genuine messages one source may have stored: a bucket for each that fills evenly and
 * holds the messages of one minute. Only what was verified is counted, so that junk takes
 * nothing away; the limit is for a message that was overheard and is sent again and again.
 */
export class SourceRate {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  allows(source: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#bucketOf(source, nowMs);
    const refill = ((nowMs - bucket.lastMs) / 60_000) * MESSAGES_PER_MINUTE_MAX;
    bucket.left = Math.min(MESSAGES_PER_MINUTE_MAX, bucket.left + refill);
    bucket.lastMs = nowMs;
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }

  #bucketOf(source: string, nowMs: number): Bucket {
    if (!this.#buckets.has(source) && this.#buckets.size >= SOURCES_MAX) this.#forgetFull(nowMs);
    const isRoom = this.#buckets.has(source) || this.#buckets.size < SOURCES_MAX;
    const key = isRoom ? source : OTHERS;
    const bucket = this.#buckets.get(key) ?? { left: MESSAGES_PER_MINUTE_MAX, lastMs: nowMs };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** A bucket is full again after a minute of silence, and then no different from a new one. */
  #forgetFull(nowMs: number): void {
    for (const [source, { lastMs }] of this.#buckets) {
      if (nowMs - lastMs >= 60_000) this.#buckets.delete(source);
    }
  }
}
