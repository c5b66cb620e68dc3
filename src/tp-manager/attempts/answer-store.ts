/** Charges that the kiosk does not know of. */
export interface UnreadCharges {
  readonly count: number;
  /** Of the one that has waited longest; epoch milliseconds. */
  readonly sinceMs: number;
  /** The oldest of them. */
  readonly orderIds: readonly string[];
}

/** The kiosk's knowledge of answers. */
export interface AnswerStore {
  /** An order with a generated id, charged or unknown, whose answer nobody has read. */
  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined;
  markAnswerDelivered(orderId: string): void;
  /** The order is charged, and no answer that says so has arrived (docs/rules/11-unread.md). */
  markChargeUnread(orderId: string, atMs: number): void;
  /** An answer that tells the charge has arrived whole. */
  markChargeRead(orderId: string): void;
  /** null: the kiosk knows every charge. */
  unreadCharges(): UnreadCharges | null;
}
