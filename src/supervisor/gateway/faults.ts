import { readSoapAnswer, type SoapAnswer } from "./soap-answer.ts";

/** Why an exchange has no answer. "stopped": we gave up because the program ends. */
export type FailureCause = "socket" | "certificate" | "timeout" | "stopped";

/** One request to the gateway, as the transport saw it. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly httpStatus: number;
      readonly retryAfter: string | null;
      /** null when it was larger than any true answer. */
      readonly body: string | null;
    }
  | {
      readonly kind: "failed";
      readonly cause: FailureCause;
      /** Bytes of the request may have reached the other side. */
      readonly written: boolean;
      readonly detail: string;
    };

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
  readonly meaning: string;
}

const row = (
  action: Action,
  waits: Waits,
  meaning: string,
  marks: Partial<Pick<FaultRow, "ambiguous" | "doubtful" | "parkAfterADay" | "misconfigured">> = {},
): FaultRow => ({
  action,
  waits,
  meaning,
  ambiguous: false,
  doubtful: false,
  parkAfterADay: false,
  misconfigured: false,
  ...marks,
});

/** The one table of what a try can come to (docs/design.md 8.3). */
export const faultTable = {
  sent: row("sent", "nobody", "HTTP 2xx and code 0"),

  unreachable: row("retry", "queue", "no connection; nothing was sent"),
  "connect-timeout": row("retry", "queue", "no connection in time; nothing was sent"),
  certificate: row("retry", "queue", "the gateway's certificate is not trusted; nothing was sent", {
    misconfigured: true,
  }),
  stopped: row("retry", "nobody", "this program was stopped; nothing was sent"),

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

  "credentials-refused": row("pause", "nobody", "code 1: login or password refused"),
  "order-refused": row("park", "nobody", "another code than 0 and 1: the gateway refused"),
  unsendable: row("park", "nobody", "the transaction does not fit the gateway's fields"),
} as const satisfies Record<string, FaultRow>;

export type TryClass = keyof typeof faultTable;

/** The result of one try. */
export interface Verdict {
  readonly class: TryClass;
  readonly httpStatus: number | null;
  /** The code of the result element. */
  readonly code: number | null;
  /** The gateway's words, or those of the transport. */
  readonly description: string;
  readonly retryAfter: string | null;
  /** Further fields of a result, by name. */
  readonly fields: ReadonlyMap<string, string>;
}

/** The verdict on one exchange. Pure; the only place where HTTP statuses and codes have meaning. */
export function judge(operation: string, exchange: Exchange): Verdict {
  if (exchange.kind === "failed") {
    return verdict(classOfFailure(exchange.cause, exchange.written), {
      description: exchange.detail,
    });
  }
  const { httpStatus, retryAfter, body } = exchange;
  const answer: SoapAnswer =
    body === null
      ? { kind: "unreadable", why: "larger than any true answer" }
      : readSoapAnswer(operation, body);
  if (answer.kind === "result") {
    const { code, description, fields } = answer;
    return verdict(classOfResult(httpStatus, code), { httpStatus, code, description, fields });
  }
  const known = { httpStatus, retryAfter };
  const byStatus = classOfStatus(httpStatus);
  if (answer.kind === "fault") {
    const description = [answer.faultCode, answer.description].filter((text) => text !== "");
    const processed = byStatus === "server-error" || byStatus === "unreadable-answer";
    return verdict(processed ? "soap-fault" : byStatus, {
      ...known,
      description: description.join(": "),
    });
  }
  return verdict(byStatus, { ...known, description: `HTTP ${httpStatus}: ${answer.why}` });
}

/** The verdict on an exchange that is no SOAP: by its HTTP status alone. */
export function judgeStatus(exchange: Exchange): Verdict {
  if (exchange.kind === "failed") {
    const { cause, written, detail } = exchange;
    return verdict(classOfFailure(cause, written), { description: detail });
  }
  const { httpStatus, retryAfter } = exchange;
  const description = `HTTP ${httpStatus}`;
  return verdict(classOfStatus(httpStatus), { httpStatus, retryAfter, description });
}

function verdict(tryClass: TryClass, known: Partial<Omit<Verdict, "class">>): Verdict {
  return {
    httpStatus: null,
    code: null,
    description: "",
    retryAfter: null,
    fields: new Map(),
    ...known,
    class: tryClass,
  };
}

/** A transaction that never reached the wire. */
export function unsendable(why: string): Verdict {
  return verdict("unsendable", { description: why });
}

function classOfFailure(cause: FailureCause, written: boolean): TryClass {
  switch (cause) {
    case "certificate":
      return written ? "lost-answer" : "certificate";
    case "socket":
      return written ? "lost-answer" : "unreachable";
    case "timeout":
      return written ? "answer-timeout" : "connect-timeout";
    case "stopped":
      return written ? "interrupted" : "stopped";
  }
}

/**
 * A result counts by its code whatever the HTTP status, except that success needs both
 * (docs/design.md 8.3): code 0 under a failing status contradicts itself.
 */
function classOfResult(httpStatus: number, code: number): TryClass {
  if (code === 1) return "credentials-refused"; // docs/gateway.md 2.6
  if (code !== 0) return "order-refused";
  return isSuccess(httpStatus) ? "sent" : "unreadable-answer";
}

function classOfStatus(httpStatus: number): TryClass {
  if (isSuccess(httpStatus)) return "unreadable-answer";
  if (httpStatus >= 300 && httpStatus < 400) return "redirected";
  const exact = classByStatus[httpStatus];
  if (exact) return exact;
  return httpStatus >= 400 && httpStatus < 500 ? "request-refused" : "server-error";
}

const classByStatus: Readonly<Record<number, TryClass>> = {
  401: "access-denied",
  403: "access-denied",
  404: "not-found",
  405: "access-denied",
  407: "access-denied",
  429: "too-many-requests",
  502: "upstream-lost",
  503: "unavailable",
  504: "upstream-lost",
};

function isSuccess(httpStatus: number): boolean {
  return httpStatus >= 200 && httpStatus < 300;
}
