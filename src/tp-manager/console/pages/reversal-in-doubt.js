/**
 * Returns whether an order was paid, and only its reversal is in doubt.
 * @param {any} error the member `error` of an answer
 */
export const isReversalInDoubt = (error) => error?.details?.inDoubt === "reversal";
