import { connect, type Socket } from "node:net";
import { errorTable } from "../../../src/shared/errors.ts";
import { authorization } from "./rig.ts";

export interface FuzzResult {
  readonly sent: number;
  /** How often each status was answered; 0: the connection was closed without an answer. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly problems: readonly string[];
}

/** A small generator of chance that gives the same again for the same seed (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): string {
    return String.fromCharCode(...Array.from({ length }, () => this.below(256)));
  }
}

const methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT"];
const oddMethods = ["get", "PROPFIND", "QUERY", "FOO", "", "GET\t", "M-SEARCH"];
const paths = [
  ...["/", "/payment", "/payment/A-1", "/payments", "/cancel", "/check", "/config", "/version"],
  ...["/health", "/metrics", "/openapi.json", "/delivery", "/reversal", "/terminal/accept"],
  ...[
    "/payment/A-1/settle",
    "/gateway/refund",
    "/gateway/transaction/1",
    "/nothing",
    "/unexpected-reports",
  ],
];
const oddPaths = [
  ...["//", "/%", "/%zz", "/payment/%00", "/payment/%ff", "/..;/payment", "/payment/../check"],
  ...["*", "http://evil.test/", "/payment?x=%", "/payments?limit=1e9&limit=2", "/__proto__"],
  ...["/payments?__proto__=1", "/payments?since=9e99", "/payments?cursor=1.5", "/constructor"],
  `/payment/${"x".repeat(400)}`,
  `/payment/${encodeURIComponent("☃ ä")}`,
];
const scalars = [
  ...["1", "0", "-1", "9.99", "1e400", "1e-7", "9007199254740993", "-0", "0.1e1", "true", "null"],
  ...['""', '"9.99"', '"4111111111111111"', '"\\u0000"', '"\\ud800"', '"ä☃"', "NaN", "01", "+1"],
  ...["99999999", "100000000000000000000000000000", "[]", "{}", '{"withinSeconds":30}', "[[1]]"],
];
const names = [
  ...["amount", "orderId", "currency", "basket", "customer", "customData", "delivery", "delivered"],
  ...["outcome", "note", "__proto__", "constructor", "prototype", "toString", "", "amount"],
];
const types = [
  ...["application/json", "application/json; charset=utf-8", "application/json; charset=utf-16"],
  ...["application/json; charset=iso-8859-1", "text/plain", "application/x-www-form-urlencoded"],
  ...["multipart/form-data; boundary=x", "", "application/JSON", "application/json;;;", "x"],
];
const oddHeaders = [
  ...["Upgrade: websocket\r\nConnection: Upgrade", "Expect: 100-continue", "Expect: nothing"],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Content-Encoding: gzip"],
  ...["Origin: https://evil.test", "Sec-Fetch-Site: cross-site", "Host: evil.test", "X: \x01"],
  ...["Cookie: a=b", "Range: bytes=0-1", "If-None-Match: *", "X-HTTP-Method-Override: DELETE"],
  ...["Access-Control-Request-Method: POST", "Last-Event-ID: x", "Accept: text/html", " folded"],
  ...["Content-Length: 5", "Content-Length: -1", "Authorization: Basic ???", "No colon here"],
  `X-Long: ${"x".repeat(20_000)}`,
  Array.from({ length: 150 }, (_, i) => `X-${i}: ${i}`).join("\r\n"),
];

/** Sends `count` requests, most of them wrong, and judges every answer. */
export async function fuzz(port: number, count: number, seed: number): Promise<FuzzResult> {
  const chance = new Chance(seed);
  const statuses = new Map<number, number>();
  const problems: string[] = [];
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < count && problems.length < 10) {
      sent += 1;
      const request = requestOf(chance, port);
      const answer = await exchange(port, request);
      const { status, problem } = judge(answer);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (problem) problems.push(`${problem}\n${JSON.stringify(request.slice(0, 600))}\n${answer}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return { sent, statuses, problems };
}

function requestOf(chance: Chance, port: number): string {
  const odd = (part: number): boolean => chance.next() < part;
  const method = odd(0.05) ? chance.of(oddMethods) : odd(0.6) ? "POST" : chance.of(methods);
  const path = odd(0.15) ? chance.of(oddPaths) : odd(0.4) ? "/payment" : chance.of(paths);
  const body = method === "GET" || method === "HEAD" ? "" : bodyOf(chance);
  const lines = [
    `${method} ${path} HTTP/${odd(0.03) ? chance.of(["1.0", "2.0", "0.9", "x"]) : "1.1"}`,
    ...(odd(0.03) ? [] : [`Host: ${odd(0.03) ? chance.bytes(9) : `localhost:${port}`}`]),
    ...(odd(0.05) ? [] : [`Authorization: ${authorization}`]),
    ...(body === "" ? [] : [`Content-Type: ${odd(0.2) ? chance.of(types) : types[0]}`]),
    ...(body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body, "latin1")}`]),
    ...(odd(0.15) ? [chance.of(oddHeaders)] : []),
    "Connection: close",
  ];
  const head = `${lines.join("\r\n")}\r\n\r\n`;
  return odd(0.02) ? chance.bytes(1 + chance.below(200)) : head + body;
}

function bodyOf(chance: Chance): string {
  const kind = chance.below(20);
  if (kind === 0) return chance.bytes(chance.below(300));
  if (kind === 1) return "[".repeat(1 + chance.below(60_000));
  if (kind === 2) return `{"amount":${"9".repeat(1 + chance.below(5_000))}}`;
  if (kind === 3) return `${'{"a":'.repeat(chance.below(5_000))}1`;
  if (kind === 4) return `\ufffe${'{"amount":1}'}`;
  if (kind === 5) return chance.of(scalars);
  if (kind === 6) return `{"amount":1,"customData":{"a":"${"x".repeat(chance.below(70_000))}"}}`;
  if (kind === 7) return `{"amount":1,"amount":2,"orderId":"D-${chance.below(9)}"}`;
  const members = Array.from({ length: chance.below(6) }, () => {
    return `"${chance.of(names)}":${chance.of(scalars)}`;
  });
  if (kind > 12) members.push(`"amount":${chance.of(["1", "9.99", "12.00"])}`);
  if (kind > 14) members.push(`"orderId":"F-${chance.below(50)}"`);
  const text = Buffer.from(`{${members.join(",")}}`, "utf8").toString("latin1");
  return kind === 19 ? text.slice(0, chance.below(text.length)) : text;
}

/** Everything that is answered until the connection ends; the sender ends its side too. */
function exchange(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", () => undefined); // a reset is one of the expected ends
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    socket.on("end", () => socket.destroy());
    socket.end(request, "latin1");
  });
}

/** Statuses with a code of the table, and what carries no fault. */
const known = new Set([...Object.values(errorTable).map(({ http }) => http), 204]);

function judge(answer: string): { status: number; problem?: string } {
  if (answer === "") return { status: 0 };
  const text = answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) return { status: -1, problem: "not an HTTP answer" };
  if (!known.has(status)) return { status, problem: "a status that is not documented" };
  if (status === 500) return { status, problem: "a fault of the program" };
  if (/^server:|^x-powered-by:/im.test(text)) return { status, problem: "tells what it is" };
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const body = rest.join("\r\n\r\n");
  if (status < 400 || body === "" || /^transfer-encoding:/im.test(head)) return { status };
  try {
    const [one] = JSON.parse(Buffer.from(body, "latin1").toString("utf8"));
    const code = one.error?.code ?? one.status;
    const row = errorTable[code as keyof typeof errorTable];
    if (row?.http === status || code === "NotReady") return { status };
    return { status, problem: `code ${code} does not belong to ${status}` };
  } catch {
    return { status, problem: "an error without the body of an error" };
  }
}
