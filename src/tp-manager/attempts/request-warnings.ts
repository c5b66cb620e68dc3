/** Warnings that stand in the place of what is not kept of an order; a page tells them by name. */

export const TAKEN_OVER =
  "the order was taken over from the supervisor after the journal was lost: " +
  "ticket, basket and parts of the receipt are gone";

export const ARCHIVED =
  "the order is in the archive: receipt, ticket, basket and customer are gone";
