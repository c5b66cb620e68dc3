/**
 * What happens to a transaction after a try. "sent": the gateway has it. "retry": it is sent again
 * later with the same reference. "park": it waits for an operator, and other transactions continue.
 * "pause": no transaction is sent until the reason is gone.
 */
type Action = "sent" | "retry" | "park" | "pause";

/**
 * Who waits after a failed try. "queue": nothing of the transaction was sent, so it keeps its
 * position and the queue waits. "item": the transaction may be at fault, so others continue.
 * "both": most likely the gateway fails, but perhaps the transaction does; others wait a little, so
 * that a gateway that takes orders and loses its answers does not get the whole queue at once.
 */
export type Waits = "queue" | "item" | "both" | "nobody";

const everyMark = [
  /** The gateway may have taken the order although no answer says so. */
  "ambiguous",
  /** A confirm, cancel or refund stays unknown: a proxy may have lost or withheld the answer. */
  "ambiguousOnce",
  /** A transaction is parked after a day in which it got only answers of this class. */
  "parkAfterADay",
  /** The fault stays until an operator corrects a setting or the gateway's certificate. */
  "misconfigured",
  /** Nothing of the request has left this machine. */
  "unsent",
] as const;
type Mark = (typeof everyMark)[number];
const row = (action: Action, waits: Waits, meaning: string, ...marks: Mark[]) => {
  const marked = everyMark.map((mark) => [mark, marks.includes(mark)]);
  return { action, waits, meaning, ...(Object.fromEntries(marked) as Record<Mark, boolean>) };
};
export type FaultRow = ReturnType<typeof row>;
const retry =
  (waits: Waits) =>
  (meaning: string, ...marks: Mark[]) =>
    row("retry", waits, meaning, ...marks);
const [queue, item, both, nobody] = [retry("queue"), retry("item"), retry("both"), retry("nobody")];
/** The marks of answers after which the gateway may have carried out the request. */
const processed = ["ambiguous", "parkAfterADay"] as const;

/** The classes of outcomes of a request to the gateway, and what follows (docs/design.md 8.3). */
export const faultTable = {
  sent: row("sent", "nobody", "HTTP 2xx and code 0"),

  unreachable: queue("no connection; nothing was sent", "unsent"),
  "connect-timeout": queue("no connection in time; nothing was sent", "unsent"),
  certificate: queue(
    "the gateway's certificate is not trusted; nothing was sent",
    "misconfigured",
    "unsent",
  ),
  stopped: nobody("this program was stopped; nothing was sent", "unsent"),

  "lost-answer": both("the connection broke after the request was written", "ambiguous"),
  "answer-timeout": both("no answer in time after the request was written", "ambiguous"),
  interrupted: nobody("this program ended after the request was written", "ambiguous"),

  unavailable: both("HTTP 503: temporarily unable to process", "ambiguousOnce"),
  "not-found": both("HTTP 404: requested resource does not exist"),
  "too-many-requests": both("HTTP 429: too many requests"),
  "upstream-lost": both("HTTP 502 or 504: a server in between lost the gateway", "ambiguous"),
  redirected: both(
    "HTTP 3xx: redirects are never followed, check GATEWAY_URL",
    "misconfigured",
    "ambiguousOnce",
  ),
  "access-denied": both("HTTP 401, 403, 405 or 407 without a result", "misconfigured"),
  "request-refused": item("another HTTP 4xx without a result", "parkAfterADay"),
  "server-error": item("HTTP 500 or another 5xx without a result", ...processed),
  "soap-fault": item("a SOAP Fault instead of a result", ...processed),
  "unreadable-answer": item("an answer that holds no result one can rely on", ...processed),
  "other-answer": item("an answer about something else than what was asked for", ...processed),

  "credentials-refused": row("pause", "nobody", "code 1: login or password refused"),
  "order-refused": row("park", "nobody", "another code than 0 and 1: the gateway refused"),
  unsendable: row("park", "nobody", "the transaction does not fit the gateway's fields", "unsent"),
} as const;

export type TryClass = keyof typeof faultTable;
