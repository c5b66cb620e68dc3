import type { Values } from "../soap/parameters.ts";

/**
 * Where an order stands: docs/design.md 12.16. `waiting` is a payment that is not decided yet,
 * `declined` and `aborted` end an order that was never paid; their names are not published.
 */
export type OrderState =
  | "created"
  | "waiting"
  | "authorized"
  | "captured"
  | "cancelled"
  | "refunded"
  | "reversed"
  | "declined"
  | "aborted";

/** docs/design.md 12.18: the operation types of notifications. */
export type OperationType = "authorization" | "capture" | "cancellation" | "refund" | "reject";

export type OperationStatus = "ok" | "nok" | "cancel" | "waiting";

export interface FreeDatum {
  readonly key: string;
  readonly value: string;
}

/** How an order was paid: the part of a card that may be kept. Texts are empty before. */
export interface Payment {
  readonly paymentMethod: string;
  /** Masked card number. */
  readonly card: string;
  readonly cardCountry: string;
  readonly enrolled3ds: boolean;
  readonly customerEmail: string;
  readonly customerCountry: string;
}

/** One entry of an order's history. */
export interface OrderOperation {
  readonly id: number;
  readonly type: OperationType;
  readonly status: OperationStatus;
  readonly amountMinor: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When the acquirer reported it as fraudulent, "" when it did not. */
  readonly fraudAt: string;
}

/** The order as generate stores it. */
export interface NewOrder {
  readonly login: string;
  readonly websiteId: number;
  readonly merchantReference: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly decimals: number;
  readonly manualCapture: boolean;
  readonly customerEmail: string;
  readonly freeData: readonly FreeDatum[];
  /** Every parameter as received, without secrets. */
  readonly fields: Values;
}

export interface Order extends NewOrder, Payment {
  readonly id: number;
  /** 16 upper-case hex digits: the name that merchants know the transaction by. */
  readonly transactionPublicId: string;
  /** 32 hex digits: last part of the payment page's address. */
  readonly pageId: string;
  readonly state: OrderState;
  readonly capturedMinor: number;
  readonly refundedMinor: number;
  readonly receivedAt: string;
  readonly updatedAt: string;
  /** How often a generate request with this merchant reference arrived. */
  readonly requests: number;
}
