import { type AskedFor, disagreement } from "./asked-for.ts";
import type { TryClass } from "./fault-table.ts";
import type { FailureCause, HttpFailure } from "./http-connections.ts";
import { readSoapAnswer, type SoapAnswer } from "./soap-answer.ts";

/** How one request to the gateway ended for the transport. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly httpStatus: number;
      readonly retryAfter: string | null;
      /** The text of the answer; null: it was larger than any true answer. */
      readonly body: string | null;
    }
  | HttpFailure;

/** The result of one try. */
export interface Verdict {
  readonly class: TryClass;
  readonly httpStatus: number | null;
  /** The code of the result element. */
  readonly code: number | null;
  /** The text of the gateway, or of the transport. */
  readonly description: string;
  readonly retryAfter: string | null;
  /** Further fields of a result, by name. */
  readonly fields: ReadonlyMap<string, string>;
}

/**
 * Returns the verdict on one exchange, whose answer has to agree with what was `asked` for. Pure.
 * HTTP statuses and result codes are judged in this file only.
 */
export function judge(operation: string, exchange: Exchange, asked: AskedFor): Verdict {
  if (exchange.kind === "failed") return judgeStatus(exchange);
  const { httpStatus, retryAfter, body } = exchange;
  const answer: SoapAnswer =
    body === null
      ? { kind: "unreadable", why: "larger than any true answer" }
      : readSoapAnswer(operation, body);
  if (answer.kind === "result") {
    const { code, description, fields } = answer;
    const known = { httpStatus, code, fields };
    const tryClass = classOfResult(httpStatus, code);
    const why = disagreement(asked, fields, tryClass === "sent");
    if (why === null) return verdict(tryClass, { ...known, description });
    return verdict("other-answer", { ...known, description: `${why} (${description})` });
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

/** Returns the verdict on an exchange without SOAP, by its HTTP status alone. */
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

/** Returns the verdict on a transaction that cannot be sent as it is. */
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
 * Returns the class of a result by its code. Success needs an HTTP status of success too: code 0
 * with a failing status contradicts itself (docs/design.md 8.3).
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
