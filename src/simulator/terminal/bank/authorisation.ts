/** Six digits that differ from payment to payment, and are the same in every run. */
export function authorisationNumber(trace: number): string {
  return String((trace * 7_919 + 100_003) % 1_000_000).padStart(6, "0");
}
