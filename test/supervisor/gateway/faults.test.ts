import { expect, test } from "vitest";
import { faultTable, type TryClass } from "../../../src/supervisor/gateway/fault-table.ts";
import { judge, unsendable } from "../../../src/supervisor/gateway/faults.ts";
import type { Exchange, FailureCause } from "../../../src/supervisor/gateway/http-connections.ts";
import { resultBody } from "../recording-gateway.ts";

const failed = (cause: FailureCause, written: boolean): Exchange => ({
  kind: "failed",
  cause,
  written,
  detail: "ECONNRESET",
});
const anything = { needed: [] } as const;
const judgeOrder = (exchange: Exchange) =>
  judge("generate", exchange, { merchantReference: "A-1", ...anything });
const answered = (httpStatus: number, body: string | null = ""): Exchange => ({
  kind: "answered",
  httpStatus,
  retryAfter: "120",
  body,
});
const fault =
  '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault>' +
  "<faultcode>S:Server</faultcode><faultstring>broken</faultstring></S:Fault>" +
  "</S:Body></S:Envelope>";

const ofAnother = resultBody(0).replace(
  "<code>",
  "<merchantReference>A-2</merchantReference><code>",
);

const rows: ReadonlyArray<[what: string, exchange: Exchange, expected: TryClass]> = [
  ["a socket error before the request was written", failed("socket", false), "unreachable"],
  ["a socket error after the request was written", failed("socket", true), "lost-answer"],
  ["a certificate that is not trusted", failed("certificate", false), "certificate"],
  ["a TLS fault after the request was written", failed("certificate", true), "lost-answer"],
  ["a time-out before the request was written", failed("timeout", false), "connect-timeout"],
  ["a time-out after the request was written", failed("timeout", true), "answer-timeout"],
  ["a stop before the request was written", failed("stopped", false), "stopped"],
  ["a stop after the request was written", failed("stopped", true), "interrupted"],
  ["200 with code 0", answered(200, resultBody(0)), "sent"],
  ["202 with code 0", answered(202, resultBody(0)), "sent"],
  ["500 with code 0, which contradicts itself", answered(500, resultBody(0)), "unreadable-answer"],
  ["503 with code 0", answered(503, resultBody(0)), "unreadable-answer"],
  ["200 with code 1", answered(200, resultBody(1)), "credentials-refused"],
  ["500 with code 1", answered(500, resultBody(1)), "credentials-refused"],
  ["503 with code 1", answered(503, resultBody(1)), "credentials-refused"],
  ["200 with code 3", answered(200, resultBody(3)), "order-refused"],
  ["500 with code 7", answered(500, resultBody(7)), "order-refused"],
  ["404 with code 3", answered(404, resultBody(3)), "order-refused"],
  ["a code below 0", answered(200, resultBody(-1)), "order-refused"],
  ["404 without a result", answered(404, "<html/>"), "not-found"],
  ["503 without a result", answered(503), "unavailable"],
  ["503 with a fault", answered(503, fault), "unavailable"],
  ["429", answered(429), "too-many-requests"],
  ["500 without a result", answered(500), "server-error"],
  ["500 with a page", answered(500, "<html><body>oops</body></html>"), "server-error"],
  ["501", answered(501), "server-error"],
  ["500 with a fault", answered(500, fault), "soap-fault"],
  ["200 with a fault", answered(200, fault), "soap-fault"],
  ["502", answered(502), "upstream-lost"],
  ["504", answered(504), "upstream-lost"],
  ["301", answered(301), "redirected"],
  ["302 with code 3", answered(302, resultBody(3)), "order-refused"],
  ["400", answered(400), "request-refused"],
  ["413", answered(413), "request-refused"],
  ["401", answered(401), "access-denied"],
  ["403 with a page", answered(403, "<html/>"), "access-denied"],
  ["405", answered(405), "access-denied"],
  ["407", answered(407), "access-denied"],
  ["an empty 200", answered(200), "unreadable-answer"],
  ["200 with XML that breaks off", answered(200, "<a><b>"), "unreadable-answer"],
  ["200 with JSON", answered(200, '{"code":0}'), "unreadable-answer"],
  ["200 larger than any true answer", answered(200, null), "unreadable-answer"],
  ["500 larger than any true answer", answered(500, null), "server-error"],
  ["204", answered(204), "unreadable-answer"],
  ["200 with code 0 about another order", answered(200, ofAnother), "other-answer"],
];

test.each(rows)("%s is judged correctly", (_what, exchange, expected) => {
  expect(judgeOrder(exchange).class).toBe(expected);
});

test("every class of the table is reached by a row above or has its own maker", () => {
  const reached = new Set<string>(rows.map(([, , expected]) => expected));
  reached.add(unsendable("x").class);
  expect([...reached].sort()).toEqual(Object.keys(faultTable).sort());
});

test("what each class does to the item, the queue and the operator", () => {
  const described = Object.entries(faultTable).map(([name, row]) =>
    [
      name,
      row.action,
      row.waits,
      row.ambiguous ? "ambiguous" : "",
      row.parkAfterADay ? "parked after a day" : "",
      row.misconfigured ? "alarm" : "",
    ]
      .filter((part) => part !== "")
      .join(", "),
  );
  expect(described).toEqual([
    "sent, sent, nobody",
    "unreachable, retry, queue",
    "connect-timeout, retry, queue",
    "certificate, retry, queue, alarm",
    "stopped, retry, nobody",
    "lost-answer, retry, both, ambiguous",
    "answer-timeout, retry, both, ambiguous",
    "interrupted, retry, nobody, ambiguous",
    "unavailable, retry, both",
    "not-found, retry, both",
    "too-many-requests, retry, both",
    "upstream-lost, retry, both, ambiguous",
    "redirected, retry, both, alarm",
    "access-denied, retry, both, alarm",
    "request-refused, retry, item, parked after a day",
    "server-error, retry, item, ambiguous, parked after a day",
    "soap-fault, retry, item, ambiguous, parked after a day",
    "unreadable-answer, retry, item, ambiguous, parked after a day",
    "other-answer, retry, item, ambiguous, parked after a day",
    "credentials-refused, pause, nobody",
    "order-refused, park, nobody",
    "unsendable, park, nobody",
  ]);
});

test("a failure before the gateway was reached has sent nothing", () => {
  const unsent = Object.entries(faultTable).filter(([, row]) => row.unsent);
  expect(unsent.map(([name]) => name)).toEqual([
    "unreachable",
    "connect-timeout",
    "certificate",
    "stopped",
    "unsendable",
  ]);
  expect(unsent.some(([, row]) => row.ambiguous)).toBe(false);
});

test("a verdict carries status, code, text and Retry-After for the history", () => {
  expect(judgeOrder(answered(500, resultBody(3, "amount invalid")))).toMatchObject({
    httpStatus: 500,
    code: 3,
    description: "amount invalid",
  });
  expect(judgeOrder(answered(503))).toMatchObject({
    httpStatus: 503,
    code: null,
    retryAfter: "120",
    description: "HTTP 503: empty",
  });
  expect(judgeOrder(answered(500, fault)).description).toBe("S:Server: broken");
  expect(judgeOrder(failed("socket", false)).description).toBe("ECONNRESET");
});

test("an answer to another operation is no result", () => {
  expect(judge("confirm", answered(200, resultBody(0)), anything).class).toBe("unreadable-answer");
});
