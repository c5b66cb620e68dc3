import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createLogger } from "../../src/shared/process/logger.ts";
import { childNamed, readXml } from "../../src/simulator/gateway/soap/xml.ts";

import type { TryClass } from "../../src/supervisor/gateway/fault-table.ts";
import { createGatewayClient } from "../../src/supervisor/gateway/gateway-client.ts";
import { HttpTransport } from "../../src/supervisor/gateway/http-transport.ts";
import { NotificationHandler } from "../../src/supervisor/notifications/notification-handler.ts";
import * as port from "../../src/supervisor/notifications/notification-listener.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { heapInUse, objectPrototype } from "../support/heap/heap.ts";
import { hostileDocuments, jsonMakers, xmlMakers } from "../support/inputs/hostile-documents.ts";
import { Random } from "../support/inputs/random.ts";
import { postsTo } from "../support/programs/kept-connections.ts";
import { isWhole } from "../support/run/scope.ts";
import { gatewaySettings } from "./gateway-settings.ts";
import { mapiOf, md5, resultOf, secrets } from "./notifications/mapi.ts";
import { resultBody } from "./recording-gateway.ts";
import { sampleTransaction } from "./sample-transaction.ts";
import { openRig, PASSWORD } from "./supervisor-rig.ts";

/** What comes from outside is refused, and nothing grows. */
const MESSAGES_PER_MINUTE_MAX = 600;
const NOTIFICATION_BYTES_MAX = 64 * 1024;
/** Elsewhere than in the whole scope each kind of damage comes ten times at least. */
const DOCUMENTS = isWhole ? 10_000 : 400;
const AT_A_TIME = 16;
/**
 * What may be left on the heap: caches of the runtime and statements of SQLite fill up once. The
 * ten thousand documents of the whole scope would be as much if they were kept; the large ones more
 * than ten times. Elsewhere one megabyte at most was left, and less may be.
 */
const HEAP_GROWTH_MAX = (isWhole ? 10 : 4) * 1024 * 1024;
const SECRET = "fraud passphrase";
const FORM = "application/x-www-form-urlencoded";

async function listening() {
  const rig = await openRig();
  rig.handOver("A-1");
  const { operationStore: operations, losses, tally, clock, log } = rig;
  const parts = { operations, losses, tally, clock, log, secrets, fraudSecret: SECRET };
  const handler = new NotificationHandler({
    ...parts,
    onAccepted: (id) => rig.operations.notified(id),
  });
  const listener = await port.startNotificationListener({
    host: "127.0.0.1",
    port: 0,
    handler,
    clock,
    log,
  });
  onTestFinished(() => listener.close());
  const post = postsTo(listener.port, AT_A_TIME);
  return { rig, post };
}

/**
 * Sends everything, a few at a time, and checks each answer; the rate limit's minutes pass and the
 * log of the rig is forgotten on the way. Returns how often each status came, and the heap's growth
 * after the first tenth.
 */
async function sendAll<T>(
  rig: Awaited<ReturnType<typeof openRig>>,
  documents: Iterable<T>,
  send: (document: T) => Promise<number>,
): Promise<{ counts: Record<number, number>; grownBytes: number }> {
  const counts: Record<number, number> = {};
  let batch: T[] = [];
  let sent = 0;
  let before = 0;
  const flush = async (): Promise<void> => {
    for (const status of await Promise.all(batch.map(send))) {
      counts[status] = (counts[status] ?? 0) + 1;
    }
    sent += batch.length;
    batch = [];
    (rig.lines as unknown[]).length = 0;
    if (sent % (MESSAGES_PER_MINUTE_MAX / 2) < AT_A_TIME) await rig.clock.advance(60_000);
    if (before === 0 && sent > DOCUMENTS / 10) before = heapInUse();
  };
  for (const document of documents) {
    batch.push(document);
    if (batch.length === AT_A_TIME) await flush();
  }
  await flush();
  return { counts, grownBytes: heapInUse() - before };
}

test("malformed notifications are refused, and the heap does not grow", async () => {
  const { rig, post } = await listening();
  const prototype = objectPrototype();
  const random = new Random(7);
  const good = mapiOf(resultOf());
  const documents = hostileDocuments(xmlMakers, () => good, DOCUMENTS, 5);
  const { counts, grownBytes } = await sendAll(rig, documents, async ({ kind, bytes }) => {
    // Every second one is signed again: then it reaches the parser as if the gateway had sent it.
    const document = random.happens(0.5) ? signedAgain(bytes) : bytes;
    const type = random.happens(0.95)
      ? FORM
      : random.pick(["text/xml", "multipart/form-data", "x"]);
    const path = random.pick(["/notify", "/", "/a/b?c=d", "/%00"]);
    const { status } = await post(path, { "content-type": type }, formOf(document, random));
    if (status !== 403) expect([200, 413, 415], kind).toContain(status);
    if (status === 200) expectOurs(document, kind);
    return status;
  });
  expect(counts[403]).toBeGreaterThan(DOCUMENTS / 2);
  expect(counts[200] ?? 0).toBeLessThan(DOCUMENTS / 4);
  expect(grownBytes).toBeLessThan(HEAP_GROWTH_MAX);
  expect(objectPrototype()).toEqual(prototype);
  const xml = field(Buffer.from(good));
  const { status } = await post("/", { "content-type": FORM }, xml);
  expect(status).toBe(200);
});

/** Signs what stands between the first opening and the last closing tag, if they are there. */
function signedAgain(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const [opening, closing] = [text.indexOf("<result>"), text.lastIndexOf("</result>")];
  if (opening < 0 || closing < opening) return bytes;
  const signed = text.slice(opening, closing + "</result>".length);
  const digest = createHash("md5").update(signed, "latin1").update(PASSWORD).digest("hex");
  return Buffer.from(text.replace(/(<md5content>)[^<]*/, `$1${digest}`), "latin1");
}

function formOf(document: Buffer, random: Random): string {
  const xml = field(document);
  if (random.happens(0.95)) return xml;
  return random.pick([`${xml}&${xml}`, `${xml}&xml=`, `a=b&${xml}`, xml.slice(4), "xml=%G1"]);
}

const inForm = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[0-9A-Za-z]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
});

/** The form field, byte for byte. */
function field(document: Buffer): string {
  let text = "xml=";
  for (const byte of document) text += inForm[byte];
  return text;
}

/** Accepted: then its digest is right by any computation, and it is about our order. */
function expectOurs(document: Buffer, kind: string): void {
  const text = document.toString("utf8");
  const results = text.split("<result>");
  expect(results, kind).toHaveLength(2);
  const signed = `<result>${results[1]?.split("</result>")[0]}</result>`;
  expect(text, kind).toContain(`<md5content>${md5(signed + PASSWORD)}</md5content>`);
  for (const needed of ["A-1", "8.99", "EUR"]) expect(signed, kind).toContain(needed);
  expect(text, kind).not.toMatch(/<!(DOCTYPE|ENTITY)/);
}

const fraudEvent = JSON.stringify({
  event_key: "operation.fraud_reported_by_acquirer",
  data: {
    id: 155_227_950_169,
    merchant_order_id: "A-1",
    amount: "8.99",
    currency: "EUR",
    order: {},
    operations: [{ type: "CAPTURE", date_fraud_by_acquirer: "2026-07-08T00:00:00+02:00" }],
    fraud_reported_by_acquirer: true,
  },
  sent_date: "2026-07-08T08:02:45+02:00",
});

test("malformed fraud events are refused, and the heap does not grow", async () => {
  const { rig, post } = await listening();
  const prototype = objectPrototype();
  const random = new Random(8);
  const documents = hostileDocuments(jsonMakers, () => fraudEvent, DOCUMENTS, 6);
  const { counts, grownBytes } = await sendAll(rig, documents, async ({ kind, bytes }) => {
    const secret = random.happens(0.6) ? SECRET : "another";
    const algorithm = random.pick(["sha256", "sha512", "sha1"]);
    const signature = createHash(algorithm).update(bytes).update(secret).digest("hex");
    const headers = {
      "content-type": random.happens(0.95) ? "application/json" : random.pick([FORM, "text/json"]),
      "x-allopass-signature": random.happens(0.9) ? signature : signature.slice(1),
    };
    const { status } = await post("/fraud", headers, bytes);
    if (status !== 403) expect([200, 413, 415], kind).toContain(status);
    if (bytes.length > NOTIFICATION_BYTES_MAX) expect(status, kind).toBe(413);
    if (status === 200) {
      expect([secret, algorithm === "sha1"], kind).toEqual([SECRET, false]);
      const parsed = JSON.parse(bytes.toString("utf8"));
      expect((parsed.data ?? parsed).fraud_reported_by_acquirer, kind).toBe(true);
    }
    return status;
  });
  expect(counts[403]).toBeGreaterThan(DOCUMENTS / 2);
  expect(grownBytes).toBeLessThan(HEAP_GROWTH_MAX);
  expect(objectPrototype()).toEqual(prototype);
});

test("malformed answers are no answer of the gateway, and none is kept", async () => {
  let answer = { status: 200, headers: {} as Record<string, string>, body: "" as Buffer | string };
  const answers = new Map<string, typeof answer>();
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const reference = /<merchantReference>([^<]*)</.exec(Buffer.concat(chunks).toString())?.[1];
      const { status, headers, body } = answers.get(reference ?? "") ?? answer;
      response.writeHead(status, headers);
      response.end(body);
      answers.delete(reference ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const rig = await openRig();
  const client = createGatewayClient(
    gatewaySettings(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      GATEWAY_PWD: PASSWORD,
    }),
    new HttpTransport(new TestClock()),
    createLogger({ program: "test", level: "error", stream: { write: () => {} } }),
  );
  onTestFinished(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  const prototype = objectPrototype();
  const random = new Random(9);
  const signal = new AbortController().signal;
  const classes: Partial<Record<TryClass, number>> = {};
  const goodOnes = [resultBody(0, "N/A", "https://pay.example/1"), resultBody(3, "amount invalid")];
  const documents = hostileDocuments(xmlMakers, (from) => from.pick(goodOnes), DOCUMENTS, 7);
  let number = 0;
  const { grownBytes } = await sendAll(rig, documents, async ({ kind, bytes }) => {
    const orderId = `order-${++number}`;
    const status = random.pick([200, 200, 200, 500, 503, 404, 302]);
    const type = random.pick(["text/xml; charset=utf-8", "text/html", "text/xml; charset=utf-16"]);
    answer = { status, headers: { "content-type": type }, body: bytes };
    answers.set(orderId, answer);
    const { verdict } = await client.generate(sampleTransaction({ orderId }), signal);
    classes[verdict.class] = (classes[verdict.class] ?? 0) + 1;
    if (verdict.class === "sent") {
      expect(status, kind).toBe(200);
      expect(["0", "characters"], kind).toContain(codeIn(bytes));
    }
    expect(verdict.description.length, kind).toBeLessThanOrEqual(300);
    return status;
  });
  expect(Object.values(classes).reduce((sum, count) => sum + count)).toBe(DOCUMENTS);
  expect(classes["unreadable-answer"]).toBeGreaterThan(DOCUMENTS / 5);
  expect(classes["sent"] ?? 0).toBeLessThan(DOCUMENTS / 5);
  expect(grownBytes).toBeLessThan(HEAP_GROWTH_MAX);
  expect(objectPrototype()).toEqual(prototype);
});

/**
 * The code of the one result, as the sandbox's own, stricter reader finds it. It also refuses
 * characters, entities, encodings and prefixes that do not change what the elements say; a document
 * of another structure never passes.
 */
function codeIn(bytes: Buffer): string {
  try {
    const body = childNamed(readXml(bytes), "Body")?.children ?? [];
    const responses = body.filter(({ name }) => name === "generateResponse");
    const results = responses.flatMap(({ children }) =>
      children.filter(({ name }) => name === "generateResult"),
    );
    const codes = results.flatMap(({ children }) => children.filter(({ name }) => name === "code"));
    return results.length === 1 ? codes.map(({ text }) => text.trim()).join() : "structure";
  } catch (error) {
    const { message } = error as Error;
    return /UTF-8|encoding|entity|prefix|character/.test(message) ? "characters" : message;
  }
}
