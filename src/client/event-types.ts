/** The events of `GET /events`: the members of each besides `at`. */
export interface EventMembers {
  /** A payment has begun or changed its state. */
  readonly payment: {
    readonly orderId: string;
    readonly transactionId: string;
    /** Counts the attempts of the order from 1. */
    readonly attempt: number;
    readonly state:
      | "running"
      | "approved"
      | "charged"
      | "declined"
      | "cancelled"
      | "failed"
      | "in-doubt"
      | "reversing"
      | "reversal-in-doubt"
      | "reversed";
    readonly charged: "no" | "yes" | "unknown";
    /** A code of the error table. */
    readonly error: string | null;
    /** In minor units: 999 is 9.99 EUR. */
    readonly amountMinor: number;
    /** null while it is not known; absent in events of older versions. */
    readonly chargedAmountMinor?: number | null | undefined;
    readonly currency: string;
  };
  /** The gateway's share of a charged payment has changed. */
  readonly delivery: {
    readonly orderId: string;
    readonly transactionId: string;
    readonly delivery: "pending" | "sent" | "parked" | "closed";
    readonly notificationGatewaySent: boolean;
  };
  /** An end of day has ended. */
  readonly "end-of-day": {
    readonly askedBy: "operator" | "terminal";
    readonly end: "completed" | "refused" | "open-pre-authorisations" | "failed" | "lost";
    /** The terminal's own words when it was not completed. */
    readonly text: string;
    readonly applications: ReadonlyArray<{
      readonly name: string;
      readonly status: string;
      readonly count: number;
      readonly sumMinor: number;
    }>;
  };
  /** An end of day, or a missing receipt number, was compared with the journal. */
  readonly reconciliation: {
    readonly id: number;
    readonly kind: "end-of-day" | "receipt-jump";
    readonly result: "agrees" | "differs" | "not-comparable" | "jump" | "refuted";
    /** The terminal's surplus, in minor units. */
    readonly differenceMinor: number | null;
    readonly currency: string | null;
    /** The orders that the difference could be. */
    readonly orderIds: readonly string[];
  };
  /** An operator has to look. */
  readonly alarm: {
    readonly alarm: string;
    /** The name of this alarm before it was renamed. */
    readonly formerly?: string | undefined;
    /** Of an unmatched transaction; absent while the terminal is being asked. */
    readonly finding?: "held" | "unclear" | undefined;
    readonly message: string;
    /** The first order that it names. */
    readonly orderId: string | null;
    /** All orders that an unmatched transaction can be of, or nearly. */
    readonly orders?: readonly string[] | undefined;
    readonly transactionId: string | null;
    readonly source?: "tp-manager" | "supervisor" | undefined;
  };
  /** The fleet asked for something, and it was taken. */
  readonly "fleet-request": { readonly message: string; readonly request: string | null };
  /** The terminal's words for the customer while a payment runs. */
  readonly prompt: {
    readonly orderId: string;
    readonly transactionId: string;
    readonly code: string;
    readonly text: string;
    /** ISO 639-1; "" when the text came from the terminal. */
    readonly language: string;
    /** The meaning of the code in each language; null: it has none. */
    readonly texts: Readonly<Record<"en" | "fr" | "de", string>> | null;
  };
  /** The terminal's link or readiness; sent at the start of a stream and at each change. */
  readonly terminal: {
    readonly link: "disconnected" | "connecting" | "registering" | "connected";
    readonly problem: string | null;
    readonly state: "ready" | "busy" | "action-needed" | "no-link" | "not-known";
    readonly detail: string;
    readonly since: string;
    readonly terminalId: string;
    readonly serialNumber: string;
  };
  /** Events between these ids are no longer kept. */
  readonly gap: { readonly afterId: number; readonly beforeId: number };
}

/**
 * One event; its `name` decides the members of `data`. A newer connector may send names that are
 * not here: leave them alone.
 */
export type ConnectorEvent = {
  readonly [Name in keyof EventMembers]: {
    /** Only events that are kept have one. */
    readonly id: number | undefined;
    readonly name: Name;
    readonly data: EventMembers[Name] & { readonly at: string };
  };
}[keyof EventMembers];
