/** Random wrong requests to the local API, made of parts that are known to break programs. */

import type { Random } from "../../support/inputs/random.ts";

/** The program to attack, and the logins that it knows. */
export interface FuzzTarget {
  readonly port: number;
  /** Values of the header Authorization. */
  readonly kiosk: string;
  readonly operator: string;
}

const methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT"];
const oddMethods = [
  "get",
  "PROPFIND",
  "QUERY",
  "FOO",
  "",
  "GET\t",
  "M-SEARCH",
  "PURGE",
  "__proto__",
  "GET GET",
  "\x00GET",
  "PRI",
  "ACL",
];
const paths = [
  "/",
  "/payment",
  "/payment/A-1",
  "/payments",
  "/cancel",
  "/check",
  "/config",
  "/version",
  "/health",
  "/metrics",
  "/openapi.json",
  "/delivery",
  "/reversal",
  "/terminal/accept",
  "/payment/A-1/settle",
  "/gateway/confirm",
  "/gateway/cancel",
  "/gateway/refund",
  "/gateway/settle",
  "/gateway/copies",
  "/gateway/transaction/1",
  "/outbox",
  "/outbox/1/requeue",
  "/outbox/1/drop",
  "/nothing",
  "/stop",
  "/reset",
  "/tlc",
  "/events",
  "/unmatched-transactions",
  "/reconciliation",
  "/reconciliation?cursor=0",
  "/reconciliation?limit=x",
];
const oddPaths = [
  "//",
  "/%",
  "/%zz",
  "/payment/%00",
  "/payment/%ff",
  "/..;/payment",
  "/payment/../check",
  "*",
  "http://evil.test/",
  "/payment?x=%",
  "/payments?limit=1e9&limit=2",
  "/__proto__",
  "/payments?__proto__=1",
  "/payments?since=9e99",
  "/payments?cursor=1.5",
  "/constructor",
  "/payments?limit[]=1",
  "/payments?status=Success&status=Failed",
  "/payments?cursor=-1",
  "/payments?since=%F0%9F%92%B3",
  "/payments?limit=00000000001",
  "/PAYMENT",
  "/payment/",
  "/outbox?state=x",
  "/outbox?cursor=99999999999999999999",
  "/outbox/%2e%2e/drop",
  "/./check",
  "/events?lastEventId=-1",
  "/events?lastEventId=9999999999999999",
  "/check#x",
  "/check%20",
  "/gateway/transaction/%2F",
  "/gateway/transaction/'--",
  "\\check",
  "check",
  "",
  "/\u00e4",
  `/payment/${"x".repeat(400)}`,
  `/${"y".repeat(15_000)}`,
  `/payments?${"a=1&".repeat(2_000)}`,
  `/payment/${encodeURIComponent("☃ ä")}`,
];
const scalars = [
  "1",
  "0",
  "-1",
  "9.99",
  "1e400",
  "1e-7",
  "9007199254740993",
  "-0",
  "0.1e1",
  "true",
  "null",
  '""',
  '"9.99"',
  '"4111111111111111"',
  '"\\u0000"',
  '"\\ud800"',
  '"ä☃"',
  "NaN",
  "01",
  "+1",
  "99999999",
  "100000000000000000000000000000",
  "[]",
  "{}",
  '{"withinSeconds":30}',
  "[[1]]",
  "1.0000000000000000000000001",
  "-9223372036854775808",
  "Infinity",
  "0x10",
  "1_000",
  ".5",
  '"EUR"',
  '"JPY"',
  '"ZZZ"',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":1}}',
  '"\\u202e"',
  '"\\uffff"',
  '"\'; DROP TABLE attempt;--"',
  '"<script>"',
  '"charged"',
];
const names = [
  "amount",
  "orderId",
  "currency",
  "basket",
  "customer",
  "customData",
  "delivery",
  "delivered",
  "outcome",
  "note",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "",
  "amount",
  "transactionPublicId",
  "happened",
  "hasOwnProperty",
  "\\u0061mount",
  "valueOf",
  "then",
];
const types = [
  "application/json",
  "application/json; charset=utf-8",
  "application/json; charset=utf-16",
  "application/json; charset=iso-8859-1",
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "",
  "application/JSON",
  "application/json;;;",
  "x",
  'application/json; charset="utf-7',
  "application/json, text/plain",
  "text/json",
  "application/json; charset=utf-8; charset=utf-16",
  "application/json\u00a0",
  "*/*",
];
const oddHeaders = [
  "Upgrade: websocket\r\nConnection: Upgrade",
  "Expect: 100-continue",
  "Expect: nothing",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip",
  "Content-Encoding: gzip",
  "Origin: https://evil.test",
  "Sec-Fetch-Site: cross-site",
  "Host: evil.test",
  "X: \x01",
  "Cookie: a=b",
  "Range: bytes=0-1",
  "If-None-Match: *",
  "X-HTTP-Method-Override: DELETE",
  "Access-Control-Request-Method: POST",
  "Last-Event-ID: x",
  "Accept: text/html",
  " folded",
  "Content-Length: 5",
  "Content-Length: -1",
  "Authorization: Basic ???",
  "No colon here",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding : chunked",
  "Content-Length: 0x9",
  "Connection: keep-alive, close",
  "Keep-Alive: timeout=999999",
  "TE: trailers",
  "__proto__: 1",
  "Origin: null",
  "Last-Event-ID: 0",
  "Accept-Encoding: gzip",
  "Forwarded: for=evil",
  ": x",
  "X-Forwarded-For: 10.0.0.1",
  "Content-Type: text/plain",
  "Host: [::1]",
  "Origin:",
  "\x00: x",
  "Authorization: Bearer x",
  "Authorization: Basic",
  "Content-Length: 99999999999999999999",
  "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nConnection: Upgrade",
  `X-Long: ${"x".repeat(20_000)}`,
  `Cookie: ${"a=b; ".repeat(3_000)}`,
  Array.from({ length: 150 }, (_, i) => `X-${i}: ${i}`).join("\r\n"),
];

/** Streams that are no HTTP, or only in part. */
const oddStreams = [
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "SSH-2.0-x\r\n",
  "\r\n\r\n\r\n",
  "\x00",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "GET /\r\n\r\n",
  "GET\r\n",
  "HTTP/1.1 200 OK\r\n\r\n",
  "GET / HTTP/1.1\n\n",
  "GET / HTTP/1.1\rHost: x\r\r",
  "GET  /  HTTP/1.1\r\n\r\n",
  "POST /payment HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
  "\u00ff\u00fe",
];

/** All bytes of one connection: mostly one request, sometimes several or none. */
export function attackOf(random: Random, target: FuzzTarget): string {
  if (random.happens(0.01)) return random.pick(oddStreams);
  if (random.happens(0.01)) return noise(random, 1 + random.below(200));
  if (random.happens(0.02)) {
    const several = Array.from({ length: 2 + random.below(4) }, () => requestOf(random, target));
    return several.join(random.happens(0.2) ? noise(random, 3) : "");
  }
  const request = requestOf(random, target);
  return random.happens(0.01) ? request.slice(0, random.below(request.length)) : request;
}

function requestOf(random: Random, target: FuzzTarget): string {
  const odd = (part: number): boolean => random.happens(part);
  const method = odd(0.05) ? random.pick(oddMethods) : odd(0.6) ? "POST" : random.pick(methods);
  const path = odd(0.15) ? random.pick(oddPaths) : odd(0.4) ? "/payment" : random.pick(paths);
  const body = method === "GET" || method === "HEAD" ? "" : bodyOf(random);
  const [framing, framed] = odd(0.05) ? chunked(random, body) : [lengthOf(body), body];
  const lines = [
    `${method} ${path} HTTP/${odd(0.03) ? random.pick(["1.0", "2.0", "0.9", "x"]) : "1.1"}`,
    ...(odd(0.03) ? [] : [`Host: ${hostOf(random, target)}`]),
    ...(odd(0.03) ? [] : [`Authorization: ${pairOf(random, target, path)}`]),
    ...(body === "" ? [] : [`Content-Type: ${odd(0.2) ? random.pick(types) : types[0]}`]),
    ...(body === "" ? [] : [framing]),
    ...(odd(0.15) ? [random.pick(oddHeaders)] : []),
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${framed}`;
}

function hostOf(random: Random, { port }: FuzzTarget): string {
  if (random.happens(0.03)) return noise(random, 9);
  return `${random.pick(["localhost", "localhost", "127.0.0.1", "[::1]", "LOCALHOST"])}:${port}`;
}

/** Calls that stop the program or restart the terminal get only the kiosk's login. */
function pairOf(random: Random, { kiosk, operator }: FuzzTarget, path: string): string {
  if (random.happens(0.003)) {
    return `Basic ${Buffer.from(`${noise(random, 6)}:${noise(random, 6)}`).toString("base64")}`;
  }
  const isCritical = /stop|reset|tlc/i.test(path);
  return !isCritical && random.happens(0.2) ? operator : kiosk;
}

function lengthOf(body: string): string {
  return `Content-Length: ${Buffer.byteLength(body, "latin1")}`;
}

/** The body in chunks, most of them well-formed. */
function chunked(random: Random, body: string): [header: string, body: string] {
  const size = 1 + random.below(5_000);
  const parts: string[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.slice(at, at + size);
    const stated = random.happens(0.02) ? random.pick(["-1", "x", "fffffffff", "0x1", ""]) : "";
    const extension = random.happens(0.1) ? `;${"e".repeat(random.below(500))}=1` : "";
    parts.push(`${stated || part.length.toString(16)}${extension}\r\n${part}\r\n`);
  }
  const trailer = random.happens(0.1) ? "Host: evil.test\r\nContent-Length: 3\r\n" : "";
  return ["Transfer-Encoding: chunked", `${parts.join("")}0\r\n${trailer}\r\n`];
}

function bodyOf(random: Random): string {
  const kind = random.below(22);
  if (kind === 0) return noise(random, random.below(300));
  if (kind === 1)
    return random.pick(["[", '{"a":', '{"customData":{']).repeat(random.below(12_000));
  if (kind === 2) return `{"amount":${"9".repeat(1 + random.below(5_000))}}`;
  if (kind === 3) return `${'{"a":'.repeat(random.below(5_000))}1`;
  if (kind === 4)
    return random.pick(["\xff\xfe{\0}\0", "\xef\xbb\xbf{}", "\0\0\0{", '{"amount":1}\0']);
  if (kind === 5) return random.pick(scalars);
  if (kind === 6) return `{"amount":1,"customData":{"a":"${"x".repeat(random.below(70_000))}"}}`;
  if (kind === 7) return `{"amount":1,"amount":2,"orderId":"D-${random.below(9)}"}`;
  if (kind === 8) return manyMembers(random);
  const members = Array.from({ length: random.below(6) }, () => {
    return `"${random.pick(names)}":${random.pick(scalars)}`;
  });
  if (kind > 12) members.push(`"amount":${random.pick(["1", "9.99", "12.00"])}`);
  if (kind > 14) members.push(`"orderId":"F-${random.below(50)}"`);
  if (kind > 19) members.length = 0;
  if (kind > 19) members.push(`"amount":1,"orderId":"G-${random.below(1e6)}"`);
  const text = Buffer.from(`{${members.join(",")}}`, "utf8").toString("latin1");
  return kind === 19 ? text.slice(0, random.below(text.length)) : text;
}

/** A body with many members side by side instead of nested ones. */
function manyMembers(random: Random): string {
  const count = random.below(4_000);
  if (random.happens(0.5)) return `{"amount":1,"basket":[${"{},".repeat(count)}{}]}`;
  const members = Array.from({ length: count }, (_, i) => `"k${i}":${i}`);
  return `{"amount":1,"customData":{${members.join(",")}}}`;
}

function noise(random: Random, length: number): string {
  return String.fromCharCode(...random.bytes(length));
}
