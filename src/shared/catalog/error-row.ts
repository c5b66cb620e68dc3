/** The money of the order that an error is about, as far as is known. */
export type Charged = "no" | "yes" | "unknown";
export type Retry = "safe" | "same_order" | "after_recovery" | "never";

export interface ErrorRow {
  readonly http: number;
  readonly charged: Charged;
  readonly retry: Retry;
  readonly meaning: string;
  /** Advice to the operator or developer. */
  readonly action: string;
}

export const row = (
  http: number,
  charged: Charged,
  retry: Retry,
  meaning: string,
  action: string,
): ErrorRow => ({ http, charged, retry, meaning, action });
