/** The fate of the transaction after the try. */
type Action =
  /** Done. */
  | "sent"
  /** Tried again later, with the same reference. */
  | "retry"
  /** Waits for an operator; the others go on. */
  | "park"
  /** Nothing at all is sent until the reason is gone. */
  | "pause";

/**
 * Who waits after a failed try. "queue": nothing of the transaction was sent, so it keeps its
 * place and the queue waits. "item": it may be its own fault, so the others go on. "both": most
 * likely the gateway as a whole, but perhaps only this transaction; the others wait a little, so
 * that a gateway that takes orders and loses its answers is not sent the whole queue in one go.
 */
export type Waits = "queue" | "item" | "both" | "nobody";

export interface FaultRow {
  readonly action: Action;
  readonly waits: Waits;
  /** The gateway may have taken the order although we did not learn it. */
  readonly ambiguous: boolean;
  /**
   * Not ambiguous for an order, which is repeated anyway. But for an operation that is sent only
   * once the answer may be that of a proxy, which does not know what the gateway did: unknown.
   */
  readonly doubtful: boolean;
  /** Parked when the gateway has answered like this, and nothing else, for a day. */
  readonly parkAfterADay: boolean;
  /** The trouble stays until an operator sets something right. */
  readonly misconfigured: boolean;
  /** Nothing of the request has left this machine. */
  readonly unsent: boolean;
  readonly meaning: string;
}

const row = (
  action: Action,
  waits: Waits,
  meaning: string,
  marks: Partial<Omit<FaultRow, "action" | "waits" | "meaning">> = {},
): FaultRow => ({
  action,
  waits,
  meaning,
  ambiguous: false,
  doubtful: false,
  parkAfterADay: false,
  misconfigured: false,
  unsent: false,
  ...marks,
});

/** The one table of what a try can come to (docs/design.md 8.3). */
export const faultTable = {
  sent: row("sent", "nobody", "HTTP 2xx and code 0"),

  unreachable: row("retry", "queue", "no connection; nothing was sent", { unsent: true }),
  "connect-timeout": row("retry", "queue", "no connection in time; nothing was sent", {
    unsent: true,
  }),
  certificate: row("retry", "queue", "the gateway's certificate is not trusted; nothing was sent", {
    misconfigured: true,
    unsent: true,
  }),
  stopped: row("retry", "nobody", "this program was stopped; nothing was sent", { unsent: true }),

  "lost-answer": row("retry", "both", "the connection broke after the request was written", {
    ambiguous: true,
  }),
  "answer-timeout": row("retry", "both", "no answer in time after the request was written", {
    ambiguous: true,
  }),
  interrupted: row("retry", "nobody", "this program ended after the request was written", {
    ambiguous: true,
  }),

  unavailable: row("retry", "both", "HTTP 503: temporarily unable to process", {
    doubtful: true,
  }),
  "not-found": row("retry", "both", "HTTP 404: requested resource does not exist"),
  "too-many-requests": row("retry", "both", "HTTP 429: too many requests"),
  "upstream-lost": row("retry", "both", "HTTP 502 or 504: a server in between lost the gateway", {
    ambiguous: true,
  }),
  redirected: row("retry", "both", "HTTP 3xx: redirects are never followed, check GATEWAY_URL", {
    misconfigured: true,
  }),
  "access-denied": row("retry", "both", "HTTP 401, 403, 405 or 407 without a result", {
    misconfigured: true,
  }),
  "request-refused": row("retry", "item", "another HTTP 4xx without a result", {
    parkAfterADay: true,
  }),
  "server-error": row("retry", "item", "HTTP 500 or another 5xx without a result", {
    ambiguous: true,
    parkAfterADay: true,
  }),
  "soap-fault": row("retry", "item", "a SOAP Fault instead of a result", {
    ambiguous: true,
    parkAfterADay: true,
  }),
  "unreadable-answer": row("retry", "item", "an answer that holds no result one can rely on", {
    ambiguous: true,
    parkAfterADay: true,
  }),

  "other-answer": row("retry", "item", "an answer about something else than what was asked for", {
    ambiguous: true,
    parkAfterADay: true,
  }),

  "credentials-refused": row("pause", "nobody", "code 1: login or password refused"),
  "order-refused": row("park", "nobody", "another code than 0 and 1: the gateway refused"),
  unsendable: row("park", "nobody", "the transaction does not fit the gateway's fields", {
    unsent: true,
  }),
} as const satisfies Record<string, FaultRow>;

export type TryClass = keyof typeof faultTable;
