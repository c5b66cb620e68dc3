import { type AskedFor, disagreement } from "./asked-for.ts";
import type { TryClass } from "./fault-table.ts";
import type { Exchange, FailureCause } from "./http-connections.ts";
import { readSoapAnswer, type SoapAnswer } from "./soap-answer.ts";

/** What the outcome of one request to the gateway means: its class in `faultTable`, and details. */
export interface Verdict {
  readonly class: TryClass;
  readonly httpStatus: number | null;
  /** The `code` of the SOAP result; null: the answer has no result. */
  readonly code: number | null;
  /** The gateway's text, or why there is no answer. */
  readonly description: string;
  readonly retryAfter: string | null;
  /** All text fields of the SOAP result, by name. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Returns the verdict on a SOAP exchange, whose answer has to agree with `asked`. Pure. */
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
    const texts = [answer.faultCode, answer.description].filter((text) => text !== "");
    const description = texts.join(": ");
    const processed = byStatus === "server-error" || byStatus === "unreadable-answer";
    return verdict(processed ? "soap-fault" : byStatus, { ...known, description });
  }
  return verdict(byStatus, { ...known, description: `HTTP ${httpStatus}: ${answer.why}` });
}

/** Returns the verdict on an exchange by its HTTP status alone. */
export function judgeStatus(exchange: Exchange): Verdict {
  if (exchange.kind === "failed") {
    const { cause, written, detail } = exchange;
    return verdict(classesOfFailure[cause][written ? 1 : 0], { description: detail });
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

/** Returns the verdict on a transaction that cannot be sent, such as one with an invalid field. */
export function unsendable(why: string): Verdict {
  return verdict("unsendable", { description: why });
}

/** The two classes of a failed try: if no byte of the request was written, and otherwise. */
const classesOfFailure: Readonly<Record<FailureCause, readonly [TryClass, TryClass]>> = {
  certificate: ["certificate", "lost-answer"],
  socket: ["unreachable", "lost-answer"],
  timeout: ["connect-timeout", "answer-timeout"],
  stopped: ["stopped", "interrupted"],
};

/** Returns a try's class by the SOAP code; code 0 with an HTTP failure is an unreadable answer. */
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
