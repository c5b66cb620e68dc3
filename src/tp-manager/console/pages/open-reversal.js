/**
 * Returns whether an order was paid, and only its reversal runs or is in doubt.
 * @param {any} error the member `error` of an answer
 */
export const isReversalOpen = (error) => error?.details?.inDoubt === "reversal";

/**
 * Returns the key of an error's sentence.
 * @param {any} error
 */
export function sentenceKey(error) {
  if (!isReversalOpen(error)) return `error.${error?.code}`;
  return error.code === "PAYMENT_RUNNING" ? "reversal.running" : "reversal.unknown";
}
