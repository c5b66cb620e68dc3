import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConnectorClient, type SentRequest } from "../../src/client/client.ts";

/** What a client makes of answers, and of none, that a connector gives one after the other. */

interface Reply {
  readonly http: number;
  readonly one: object;
}
/** Text: a line that breaks. The last reply is repeated. */
type Replies = ReadonlyArray<Reply | string>;

const sentAt = Date.parse("2026-01-15T13:00:00Z");
const [earlier, since] = ["2026-01-15T12:58:00.000Z", "2026-01-15T13:00:00.000Z"];
/** Longer than any of these tests reads. */
const LONG_MS = 60_000;

const refused = (http: number, code: string, charged: string): Reply => ({
  http,
  one: {
    status: http >= 500 && charged === "unknown" ? "Unknown" : "Failed",
    error: { code, charged, message: `${code}.` },
  },
});
const order = (http: number, status: string, code: string | null, startedAt = since): Reply => {
  const charged = status === "Unknown" ? "unknown" : "no";
  const error = code && { code, charged, message: `${code}.` };
  return { http, one: { status, error, transactionId: "T-1", attempts: [{ startedAt }] } };
};
const running = order(504, "Unknown", "PAYMENT_RUNNING");
const paid = order(200, "Success", null);
const declined = order(200, "Declined", "PAYMENT_DECLINED");
const declinedEarlier = order(200, "Declined", "PAYMENT_DECLINED", earlier);
const notFound = refused(404, "ORDER_NOT_FOUND", "no");
const perhapsLost = refused(404, "ORDER_NOT_FOUND", "unknown");
const diskFull = refused(503, "STORAGE_FAILED", "unknown");
const closed = "ECONNREFUSED";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: sentAt });
});
afterEach(() => {
  vi.useRealTimers();
});

function connector(replies: Replies) {
  const requests: Array<{ method: string; url: string; prefer: string | null; atMs: number }> = [];
  const fetch = (url: unknown, { method = "", headers }: RequestInit = {}): Promise<Response> => {
    const prefer = new Headers(headers).get("prefer");
    requests.push({ method, url: String(url), prefer, atMs: Date.now() - sentAt });
    const reply = replies[Math.min(requests.length, replies.length) - 1] ?? closed;
    if (typeof reply === "string") return Promise.reject(new TypeError(reply));
    return Promise.resolve(Response.json([reply.one], { status: reply.http }));
  };
  const pair = { login: "kiosk", password: "secret" };
  const client = new ConnectorClient({ url: "http://localhost:1", ...pair, fetch });
  return { client, requests };
}

/** Reads until the outcome is known, or for a minute. */
async function untilKnown(replies: Replies, sent: SentRequest = {}) {
  const { client, requests } = connector(replies);
  const stop = new AbortController();
  const reading = client.untilKnown("A/1", { signal: stop.signal, ...sent });
  await vi.advanceTimersByTimeAsync(LONG_MS);
  stop.abort();
  return { answer: await reading, requests };
}

test("only GET is sent, two seconds after an answer that did not wait", async () => {
  const { answer, requests } = await untilKnown([running, running, declined]);
  expect(answer?.status).toBe("Declined");
  const one = { method: "GET", url: "http://localhost:1/payment/A%2F1", prefer: "wait=30" };
  expect(requests).toEqual([0, 2_000, 4_000].map((atMs) => ({ ...one, atMs })));
});

const lasting: ReadonlyArray<[string, Replies, SentRequest?]> = [
  ["404 after 202", [notFound], { accepted: true }],
  ["404 after the order was read", [running, notFound]],
  ["404 after the end of an earlier attempt was read", [declinedEarlier, notFound], { sentAt }],
  ["404 of a connector that may have lost orders", [perhapsLost]],
  ["404 of a wrong address", [refused(404, "NOT_FOUND", "unknown")]],
  ["a wrong login", [refused(401, "UNAUTHORIZED", "no")]],
  ["a connector that is stopping", [refused(503, "STOPPING", "no")]],
  ["no connector", [closed]],
  ["404 once, then no connector", [notFound, closed]],
  ["an order that runs, then no connector", [running, closed]],
];

test.each(lasting)("%s: Unknown until the time is over", async (_, replies, sent) => {
  const { answer, requests } = await untilKnown(replies, sent);
  expect(answer).toMatchObject({ status: "Unknown", error: { charged: "unknown" } });
  expect(requests.length).toBeGreaterThan(20);
});

test("when the time is over the last answer is given", async () => {
  const [{ answer: read }, { answer: refusal }] = [
    await untilKnown([running, notFound]),
    await untilKnown([closed, diskFull]),
  ];
  expect(read).toMatchObject(running.one);
  expect(refusal?.error).toMatchObject({ code: "STORAGE_FAILED", message: "STORAGE_FAILED." });
});

const restart = [closed, refused(503, "STOPPING", "no"), refused(500, "INTERNAL", "unknown")];
const ending: ReadonlyArray<[string, Replies, SentRequest, string | undefined]> = [
  ["a restart", [running, ...restart, paid], {}, "Success"],
  ["404 once", [notFound, paid], {}, "Success"],
  ["404 twice", [notFound, notFound, paid], {}, undefined],
  ["404 twice, but not in a row", [notFound, closed, notFound, paid], {}, "Success"],
  ["an attempt since the request", [declined], { sentAt }, "Declined"],
  ["an earlier attempt, twice", [declinedEarlier], { sentAt }, undefined],
  ["an earlier attempt, then a new one", [declinedEarlier, declined], { sentAt }, "Declined"],
  [
    "an earlier attempt, then a running one",
    [declinedEarlier, running, paid],
    { sentAt },
    "Success",
  ],
  [
    "an earlier attempt that is charged",
    [order(200, "Success", null, earlier)],
    { sentAt },
    "Success",
  ],
  ["an earlier attempt after 202", [declinedEarlier], { sentAt, accepted: true }, "Declined"],
];

test.each(ending)("%s: the order is known", async (_, replies, sent, status) => {
  expect((await untilKnown(replies, sent)).answer?.status).toBe(status);
});

test("an order that was charged before the request counts as replayed", async () => {
  const chargedEarlier = order(200, "Success", null, earlier);
  const [before, now] = [await untilKnown([chargedEarlier], { sentAt }), await untilKnown([paid])];
  expect(before.answer).toEqual({ ...chargedEarlier.one, replayed: true });
  expect(now.answer).toEqual(paid.one);
});

const accepted = { ...running, http: 202 };
const paying: ReadonlyArray<[string, Replies, string | undefined, number]> = [
  ["202, then a restart", [accepted, ...restart, paid], "Success", 4],
  ["202, then a lost journal", [accepted, notFound], "Unknown", 30],
  ["a refusal", [refused(409, "TERMINAL_BUSY", "no")], "Failed", 0],
  ["the outcome", [paid], "Success", 0],
  ["a broken line", ["ECONNRESET", running, paid], "Success", 2],
  ["a request that has not arrived", [closed, notFound], undefined, 2],
  ["a request that has not arrived, of an order declined", [closed, declinedEarlier], undefined, 2],
  ["a full disk, where nothing was written", [diskFull, notFound], undefined, 2],
  ["504, then the outcome", [running, paid], "Success", 1],
];

test.each(paying)("a payment is sent once: %s", async (_, replies, status, reads) => {
  const { client, requests } = connector(replies);
  const stop = new AbortController();
  const reading = client.payUntilKnown({ amount: 12, orderId: "A-1" }, stop.signal);
  await vi.advanceTimersByTimeAsync(LONG_MS - 1);
  stop.abort();
  expect((await reading)?.status).toBe(status);
  const [first, ...others] = requests.map(({ method, prefer }) => `${method} ${prefer}`);
  expect(first).toBe("POST respond-async");
  expect(others).toEqual(Array(reads).fill("GET wait=30"));
});
