import { createHash } from "node:crypto";
import { request } from "node:http";
import { calls } from "../../src/tp-manager/http/calls/calls.ts";
import { mapiOf, md5, resultOf } from "../supervisor/notifications/mapi.ts";
import { GATEWAY_PASSWORD, type TestInstallation } from "../support/programs/installation.ts";
import { findsIn, writingsOf } from "./search.ts";

/** Card numbers of nobody, a different one for each side that sends it. */
export const pans = {
  kiosk: "4539148803436467",
  login: "4111111111111111",
  gateway: "4012888888881881",
  notification: "5500005555555559",
  fleet: "6011000990139424",
} as const;

export const operator = { login: "boss", password: "of-the-operator" } as const;

/** What one side sent, and how often an answer came with this status. */
export interface Sent {
  readonly way: string;
  readonly statuses: Readonly<Record<string, number>>;
  /** Answers that hold one of the card numbers, each with its request. */
  readonly echoes: readonly string[];
}

/** A request whose target, headers and body go out as they are. */
interface Plain {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

const ANSWER_MS = 60_000;
/** Of a stream of events the beginning is read. */
const STREAM_MS = 1_500;

/** Returns the status and the bytes of an answer; status 0: the connection ended without one. */
function answerOf(port: number, { method, path, headers = {}, body }: Plain) {
  return new Promise<{ status: number; bytes: Buffer }>((resolve) => {
    const parts: Buffer[] = [];
    let status = 0;
    const end = (): void => resolve({ status, bytes: Buffer.concat(parts) });
    const given = { host: "127.0.0.1", port, method, path, headers, agent: false };
    const sent = request(given, (response) => {
      status = response.statusCode ?? 0;
      parts.push(Buffer.from(JSON.stringify(response.headers)));
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("close", end);
    });
    const isStream = path.startsWith("/events");
    sent.setTimeout(isStream ? STREAM_MS : ANSWER_MS, () => sent.destroy());
    sent.on("error", end);
    sent.end(body);
  });
}

/** Sends the requests one after the other, and searches each answer. */
async function sendAll(way: string, port: number, plain: readonly Plain[]): Promise<Sent> {
  const statuses: Record<string, number> = {};
  const echoes: string[] = [];
  for (const one of plain) {
    const { status, bytes } = await answerOf(port, one);
    statuses[status] = (statuses[status] ?? 0) + 1;
    for (const find of findsIn(bytes, Object.values(pans))) {
      echoes.push(`${one.method} ${one.path}: ${find}`);
    }
  }
  return { way, statuses, echoes };
}

const basic = (login: string, password: string): string =>
  `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
const authorization = basic(operator.login, operator.password);
const json = { authorization, "content-type": "application/json" } as const;
const post = (path: string, body: string): Plain => ({ method: "POST", path, headers: json, body });

/** Writings that a program still reads as digits, and that a text of JSON can hold. */
function texts(): readonly string[] {
  const readable = /^(digits|groups|full-width)/;
  const written = writingsOf(pans.kiosk).filter(({ name }) => readable.test(name));
  return written.map(({ bytes }) => bytes.toString()).flatMap((text) => [text, `card ${text}.`]);
}

/** Payments with a card number in each member, in each writing. */
export function payments({ port }: TestInstallation): Promise<Sent> {
  const order = { amount: 9, orderId: "A-1", currency: "EUR" };
  const line = { type: "good", name: "Ticket", quantity: 1, unit_price: 9, total_amount: 9 };
  const holding = (text: string): readonly object[] => [
    { ...order, orderId: text },
    { ...order, currency: text },
    { ...order, customer: { firstname: text } },
    { ...order, customer: { email: `${text}@shop.example` } },
    { ...order, customData: { note: text } },
    { ...order, customData: { [text]: "note" } },
    { ...order, customData: { deep: { list: [text] } } },
    { ...order, basket: { ...line, name: text } },
    { ...order, basket: { ...line, european_article_numbering: text } },
    { ...order, [text]: 1 },
  ];
  const escaped = [...pans.kiosk].map((digit) => `\\u003${digit}`).join("");
  const wrong = [
    `{"amount":9,"orderId":"A-1","customData":{"n":${pans.kiosk}}}`,
    `{"amount":${pans.kiosk},"orderId":"A-1"}`,
    `{"amount":9,"orderId":"${escaped}"}`,
    `{"amount":9,"orderId":"A-1", ${pans.kiosk}`,
    pans.kiosk,
  ];
  const bodies = [
    ...texts()
      .flatMap(holding)
      .map((one) => JSON.stringify(one)),
    ...wrong,
  ];
  return sendAll(
    "the kiosk: each member of a payment",
    port,
    bodies.map((body) => post("/payment", body)),
  );
}

/** Every call but `/stop`, with a card number in path, query, headers, and members of its body. */
export function everyCall({ port }: TestInstallation): Promise<Sent> {
  const named = calls.filter(({ path }) => path !== "/stop");
  const plain = named.flatMap(({ path: pattern, methods, reads }) => {
    const path = pattern.replaceAll(/\{\w+\}/g, pans.kiosk);
    const headers = { ...json, "user-agent": pans.kiosk, "x-note": pans.kiosk };
    const query = `?${pans.kiosk}=${pans.kiosk}&orderId=${pans.kiosk}&note=${pans.kiosk}`;
    const members = ["orderId", "note", "by", "id", "item", "idempotencyKey", pans.kiosk];
    const body = JSON.stringify(Object.fromEntries(members.map((name) => [name, pans.kiosk])));
    const given = methods ?? [reads ? "GET" : "POST"];
    return given.flatMap((method): Plain[] => [
      { method, path: path + query, headers, body: method === "POST" ? body : undefined },
      { method, path: `${path}/${pans.kiosk}`, headers },
    ]);
  });
  return sendAll("the kiosk and the operator: every call", port, plain);
}

/** Logins, unknown paths and malformed heads. */
export function doors({ port }: TestInstallation): Promise<Sent> {
  const { login } = pans;
  return sendAll("the door: logins and paths", port, [
    { method: "GET", path: "/health", headers: { authorization: basic(login, login) } },
    { method: "GET", path: "/health", headers: { authorization: `Bearer ${login}` } },
    { method: "GET", path: "/health", headers: { ...json, origin: `https://${login}.example` } },
    { method: "GET", path: "/health", headers: { ...json, host: `${login}.example` } },
    { method: "GET", path: `/${login}/${login}?${login}`, headers: json },
    { method: "GET", path: `/health%20${login}`, headers: json },
    { method: `X${login}`, path: "/health", headers: json },
  ]);
}

/** Notifications at the port for the gateway's, signed and not; the operator's password signs. */
export function notifications(port: number): Promise<Sent> {
  const pan = pans.notification;
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const bodies = [{ emailClient: `${pan}@shop.example` }, { idForMerchant: pan }, { transid: pan }]
    .map((fields) => resultOf(fields))
    .flatMap((result) => [mapiOf(result, md5(result + GATEWAY_PASSWORD)), mapiOf(result, "0")]);
  return sendAll("the gateway: notifications", port, [
    ...bodies.map((xml) => {
      const body = new URLSearchParams({ xml }).toString();
      return { method: "POST", path: "/notify", headers: form, body };
    }),
    ...[{ merchant_order_id: pan }, { order: { id: pan } }].map((order) => {
      const event = { amount: "8.99", currency: "EUR", operations: [], ...order };
      const body = JSON.stringify({ id: 1, order: {}, fraud_reported_by_acquirer: true, ...event });
      const signature = createHash("sha256").update(body).update(operator.password).digest("hex");
      const headers = { "content-type": "application/json", "x-allopass-signature": signature };
      return { method: "POST", path: "/fraud", headers, body };
    }),
    { method: "POST", path: `/notify?card=${pan}`, headers: form, body: `xml=${pan}` },
    { method: "POST", path: "/fraud", headers: { "x-allopass-signature": pan }, body: pan },
  ]);
}
